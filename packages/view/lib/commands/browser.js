'use strict'

// Opens an address in the user's browser.

const { spawn } = require('child_process')

/** By platform; on others `xdg-open`. @type {Record<string, [string, string[]]>} */
const PROGRAMS = {
  darwin: ['open', []],
  // `start` takes its first quoted argument for a title
  win32: ['cmd', ['/c', 'start', '']]
}

/**
 * @param {string} address
 * @returns {Promise<boolean>} whether a program was started for it
 */
function openBrowser (address) {
  const [program, args] = PROGRAMS[process.platform] ?? ['xdg-open', []]
  return new Promise(resolve => {
    const child = spawn(process.env.BROWSER || program, process.env.BROWSER ? [address] : [...args, address], { detached: true, stdio: 'ignore' })
    child.on('error', () => resolve(false))
    child.on('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}

module.exports = { openBrowser }
