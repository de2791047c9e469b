'use strict'

// `EventTarget`s have no limit in a browser.
const setMaxListeners = () => {}

module.exports = { setMaxListeners }
