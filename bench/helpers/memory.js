'use strict'

// Memory of this process.

const fs = require('fs')

const STATUS = '/proc/self/status'
const KIB = 1024

/**
 * @returns {number} peak RSS in bytes. Not `maxRSS` if there is another way: on Linux, a child starts with what its parent
 * has at the fork
 */
function peakRss () {
  if (!fs.existsSync(STATUS)) return process.resourceUsage().maxRSS * KIB
  return Number(/VmHWM:\s*(\d+)/.exec(fs.readFileSync(STATUS, 'utf8'))[1]) * KIB
}

/** @returns {number} RSS in bytes */
function rss () {
  return process.memoryUsage.rss()
}

module.exports = { peakRss, rss }
