'use strict'

// Each read and write of OPFS is synchronous: there is no thread pool to leave slow ones to. So none counts as slow.

const NEVER_WAITED = { delay: 0, sleeps: 0 }

const bytesFetched = () => 0
const schedstat = () => NEVER_WAITED

module.exports = { bytesFetched, schedstat }
