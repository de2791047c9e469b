'use strict'

// A real browser: Chromium as Debian has it, driven through its own protocol.

const fs = require('fs')
const path = require('path')
const puppeteer = require('puppeteer-core')

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome']

/**
 * @param {string[]} [names] of programs
 * @returns {string | null} the path of a browser
 */
function findBrowser (names = NAMES) {
  const folders = (process.env.PATH ?? '').split(path.delimiter)
  for (const name of names) {
    for (const folder of folders) {
      const file = path.join(folder, name)
      if (fs.existsSync(file)) return file
    }
  }
  return null
}

/**
 * @param {string} executablePath
 * @param {string[]} [more] arguments
 * @param {string[]} [without] arguments that puppeteer gives otherwise
 * @returns {Promise<import('puppeteer-core').Browser>}
 */
function launch (executablePath, more = [], without = []) {
  // in containers, root runs it, without a sandbox, and /dev/shm is small
  const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--no-first-run', '--disable-extensions', '--disable-site-isolation-trials', ...more]
  return puppeteer.launch({ executablePath, headless: true, args, ignoreDefaultArgs: without, protocolTimeout: 60000 })
}

module.exports = { findBrowser, launch }
