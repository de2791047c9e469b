'use strict'

// A log that cannot be opened, without a call to which its error is given: a process warning, as for a promise that nobody handles.

/**
 * @param {Error} err
 * @param {string} consequence
 */
function warnNotOpened (err, consequence) {
  process.emitWarning(`a log was not opened: ${err.message}; ${consequence}`, { code: 'FLUMELOG_NOT_OPENED' })
}

module.exports = { warnNotOpened }
