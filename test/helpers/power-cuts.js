'use strict'

// Interruptions of a real process: its calls are recorded, and folders are made as a power cut, or a kill, leaves them at random moments.

const fs = require('fs')
const path = require('path')
const { randomFrom } = require('./random')
const { record } = require('./recorded-calls')
const { ReplayedFolder } = require('./replayed-folder')

/**
 * @typedef {object} Run
 * @property {string} folder for what is left, and the calls
 * @property {string} root the folder in which the program works
 * @property {string[]} program a file, and its arguments
 * @property {number} seed
 * @property {number} cuts how many are tried
 * @property {boolean} [strace] whether calls are recorded by it; default: by wrapping the module `fs`
 */

/**
 * @param {Run} run
 * @param {(replayed: ReplayedFolder, left: string, random: ReturnType<typeof randomFrom>, told: any[]) => Promise<string | null>} check
 *   puts what is left into the folder `left`, and says what is wrong with it; `told`: what the program had printed, as JSON, by then
 * @returns {Promise<string | null>} what is wrong
 */
async function tryPowerCuts ({ folder, root, program, seed, cuts, strace = false }, check) {
  fs.mkdirSync(root)
  const events = record(program, { strace, output: path.join(folder, 'calls') })
  const random = randomFrom(seed)
  const moments = Array.from({ length: cuts }, () => random.below(events.length + 1)).sort((a, b) => a - b)
  const replayed = new ReplayedFolder(root)
  let at = 0
  for (const moment of moments) {
    while (at < moment) replayed.apply(events[at++])
    const left = fs.mkdtempSync(path.join(folder, 'left-'))
    const violation = await check(replayed, left, random, replayed.told.map(line => JSON.parse(line))).catch(err => err.stack)
    if (violation !== null) return `${violation} (--seed ${seed}, ${strace ? 'strace' : 'fs'}, after event ${at} of ${events.length}, left in ${left})`
    fs.rmSync(left, { recursive: true })
  }
  fs.rmSync(root, { recursive: true })
  return null
}

module.exports = { tryPowerCuts }
