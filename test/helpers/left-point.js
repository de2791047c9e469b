'use strict'

// A recovery point as a writer leaves it that is killed.

const fs = require('fs')
const { acknowledgedLine, deletionsLine, pointLine } = require('../../lib/storage/recovery-point-text')

/**
 * @param {string} file the log's
 * @param {number} offset up to which everything is durable
 * @param {import('../../lib/recovery/deletions').Deletion[]} deletions that the log may not have yet
 */
function leavePoint (file, offset, deletions) {
  const numbered = deletions.map((deletion, i) => ({ ...deletion, number: i + 1 }))
  fs.writeFileSync(file + '.recovery-point', pointLine({ offset, deletions, acknowledged: offset }, 'left') + acknowledgedLine(offset) + deletionsLine(numbered))
}

module.exports = { leavePoint }
