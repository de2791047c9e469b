'use strict'

// Temporary directories, which are deleted after use.

const fs = require('fs')
const os = require('os')
const path = require('path')

/**
 * @param {import('tape').Test} t the directory is deleted when it ends
 * @returns {(name: string) => string} returns the path of a file in the directory
 */
function testFolder (t) {
  const folder = make()
  t.teardown(() => remove(folder))
  return (name) => path.join(folder, name)
}

/**
 * @param {string} folder
 * @returns {string[]} names of its files, sorted, without the FILE.meta that each log has
 */
function filesIn (folder) {
  return fs.readdirSync(folder).filter(name => !name.endsWith('.meta')).sort()
}

/** Why tests that list the open files of this process are skipped; false: they are not. */
const noListOfOpenFiles = process.platform !== 'linux' && 'Linux has a list of the open files of a process'

/**
 * @param {string} folder
 * @returns {string[]} its files that this process has open, by the names that they had last
 */
function openFilesIn (folder) {
  const opened = fs.readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [fs.readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      // the list itself was open while it was read
      return []
    }
  })
  return opened.filter(name => name.startsWith(path.resolve(folder) + path.sep))
}

/** @type {string[]} */
const foldersOfProcess = []
// before the first test is called: tape's listener ends the process, and no later one is called
process.on('exit', () => foldersOfProcess.forEach(remove))

/** @returns {string} the path of a directory that is deleted when the process exits */
function processFolder () {
  const folder = make()
  foldersOfProcess.push(folder)
  return folder
}

let newFiles = 0
/** @type {string | undefined} */
let folderOfProcess

/**
 * For logs of which a test does not care where they are.
 * @param {Buffer} [bytes] of the file; default: there is none yet
 * @returns {string} a new path each time, in a directory that is deleted when the process exits
 */
function newFile (bytes) {
  folderOfProcess ??= processFolder()
  const name = path.join(folderOfProcess, String(++newFiles))
  if (bytes !== undefined) fs.writeFileSync(name, bytes)
  return name
}

/**
 * For what takes long to make, and several test files only read. Those that test/run.js runs together share it.
 * @param {string} name
 * @param {(folder: string) => void} fill
 * @returns {string} the path of a directory
 */
function madeOnce (name, fill) {
  const folder = path.join(process.env.TEST_SHARED ?? processFolder(), name)
  if (fs.existsSync(folder)) return folder
  const filling = fs.mkdtempSync(`${folder}-`)
  fill(filling)
  try {
    fs.renameSync(filling, folder)
  } catch (err) {
    // another file has made it meanwhile
    if (!fs.existsSync(folder)) throw err
    remove(filling)
  }
  return folder
}

function make () {
  return fs.mkdtempSync(path.join(os.tmpdir(), 'flumelog-test-'))
}

/** @param {string} folder */
function remove (folder) {
  // a process that is being killed may still write
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

module.exports = { filesIn, newFile, noListOfOpenFiles, openFilesIn, testFolder, processFolder, madeOnce }
