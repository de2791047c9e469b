'use strict'

// A small file system in memory, which tests can fill, if it can be mounted.

const fs = require('fs')
const os = require('os')
const path = require('path')
const { spawnSync } = require('child_process')

/** Why a small disk is not available; null if it is. */
const noSmallDisk = findOut()

function findOut () {
  const folder = emptyFolder()
  try {
    return mount(folder) ?? unmount(folder)
  } finally {
    fs.rmdirSync(folder)
  }
}

function emptyFolder () {
  return fs.mkdtempSync(path.join(os.tmpdir(), 'flumelog-test-disk-'))
}

function mount (folder, size = '1m') {
  if (process.platform !== 'linux') return 'it is a matter of Linux'
  const { status, stderr, error } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { encoding: 'utf8' })
  return status === 0 ? null : error?.message ?? stderr.trim()
}

function unmount (folder) {
  // lazily: a failed test may have left a file open
  const { status, stderr } = spawnSync('umount', ['-l', folder], { encoding: 'utf8' })
  return status === 0 ? null : stderr.trim()
}

/**
 * @param {import('tape').Test} t when it ends, the disk goes
 * @param {string} [size] default 1 MiB
 */
function smallDisk (t, size) {
  const folder = emptyFolder()
  const problem = mount(folder, size)
  if (problem !== null) throw new Error(problem)
  let isThere = true
  const remove = () => {
    process.off('exit', remove)
    if (!isThere) return
    isThere = false
    unmount(folder)
    // a process that was not killed yet may have written there since
    fs.rmSync(folder, { recursive: true })
  }
  process.once('exit', remove)
  t.teardown(remove)
  const filler = path.join(folder, 'filler')

  return {
    remove,
    file: (name) => path.join(folder, name),
    free,

    /** Fills the disk up to a number of free bytes, or slightly fewer. */
    leave (bytes) {
      fs.writeFileSync(filler, '')
      // others may be writing
      for (let left; (left = free() - bytes) > 0;) fs.appendFileSync(filler, Buffer.alloc(Math.min(65536, left)))
    },

    makeRoom () {
      fs.rmSync(filler)
    }
  }

  function free () {
    const { bfree, bsize } = fs.statfsSync(folder)
    return bfree * bsize
  }
}

module.exports = { noSmallDisk, smallDisk }
