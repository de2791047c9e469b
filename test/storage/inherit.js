'use strict'

// Files that replace a log, or are created beside it, inherit its mode, owner and group.

const test = require('tape')
const fs = require('fs')
const os = require('os')
const path = require('path')
const { spawnSync } = require('child_process')

const ROOT = path.join(__dirname, '../..')
/** Of a user and a group that need not exist. */
const ID = 4711
const REASON = process.getuid?.() === 0 && process.setgroups !== undefined ? false : 'only root can become another user'

const DROP = `
  process.setgroups([])
  process.setgid(${ID})
  process.setuid(${ID})
`

const COMPACT = `
  const { open } = require(${JSON.stringify(ROOT)} + '/promises')
  ;(async () => {
    const log = await open(process.argv[1], { blockSize: 1024 })
    const seq = await log.append(Buffer.alloc(100, 1))
    await log.append([Buffer.alloc(100, 1), Buffer.alloc(100, 2)])
    await log.del(seq)
    await log.compact()
    await log.close()
  })()
`

const OPEN = `
  require(${JSON.stringify(ROOT)} + '/promises').open(process.argv[1], { blockSize: 1024 }).then(log => log.close())
`

/**
 * @param {test.Test} t
 * @param {number} mode of the log, whose owner is the user and whose group is root's
 */
function logOf (t, mode) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'inherit-'))
  t.teardown(() => fs.rmSync(folder, { recursive: true }))
  fs.chownSync(folder, ID, ID)
  const filename = path.join(folder, 'log')
  fs.writeFileSync(filename, '')
  fs.chownSync(filename, ID, 0)
  fs.chmodSync(filename, mode)
  return filename
}

/** As the user, who is not in the log's group. */
function run (t, code, filename) {
  const { status, stderr } = spawnSync(process.execPath, ['-e', DROP + code, filename], { encoding: 'utf8', cwd: os.tmpdir() })
  t.equal(status, 0, stderr || 'the process ends without an error')
}

/** @param {string} filename */
function permissionsOf (filename) {
  const { mode, uid, gid } = fs.statSync(filename)
  return `${(mode & 0o777).toString(8)} ${uid}:${gid}`
}

for (const [mode, expected] of [[0o664, '644'], [0o660, '600'], [0o644, '644'], [0o666, '666'], [0o604, '600']]) {
  test(`a log of mode ${mode.toString(8)} that is compacted by its owner, who is not in its group, gets mode ${expected}`, { skip: REASON }, (t) => {
    const filename = logOf(t, mode)
    const before = fs.statSync(filename).ino
    run(t, COMPACT, filename)
    t.notEqual(fs.statSync(filename).ino, before, 'another file has its name')
    t.equal(permissionsOf(filename), `${expected} ${ID}:${ID}`)
    t.end()
  })
}

test('a log that root compacts keeps its mode, owner and group', { skip: REASON }, (t) => {
  const filename = logOf(t, 0o640)
  const { status, stderr } = spawnSync(process.execPath, ['-e', COMPACT, filename], { encoding: 'utf8' })
  t.equal(status, 0, stderr || 'the process ends without an error')
  t.equal(permissionsOf(filename), `640 ${ID}:0`)
  t.end()
})

test('what recovery truncates gets no permissions for another group than the log\'s', { skip: REASON }, (t) => {
  const filename = logOf(t, 0o660)
  run(t, COMPACT, filename)
  fs.chownSync(filename, ID, 0)
  fs.chmodSync(filename, 0o660)
  fs.appendFileSync(filename, Buffer.alloc(5000, 0xa5))
  run(t, OPEN, filename)
  const cut = fs.readdirSync(path.dirname(filename)).filter(name => name.includes('.cut-'))
  t.equal(cut.length, 1)
  for (const name of cut) t.equal(permissionsOf(path.join(path.dirname(filename), name)), `600 ${ID}:${ID}`)
  t.end()
})

test('a backup of a log gets no permissions for another group than the log\'s', { skip: REASON }, async (t) => {
  const filename = logOf(t, 0o660)
  run(t, COMPACT, filename)
  fs.chownSync(filename, ID, 0)
  fs.chmodSync(filename, 0o660)
  run(t, `
    const { open } = require(${JSON.stringify(ROOT)} + '/promises')
    ;(async () => {
      const log = await open(process.argv[1])
      await log.backup(process.argv[1] + '.backup')
      await log.close()
    })()
  `, filename)
  t.equal(permissionsOf(filename + '.backup'), `600 ${ID}:${ID}`)
})
