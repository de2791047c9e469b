'use strict'

// `EventTarget`s have no limit in a browser.
module.exports = { setMaxListeners () {} }
