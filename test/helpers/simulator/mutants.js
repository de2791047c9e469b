'use strict'

// How good is the simulator? Puts one fault after the other into a copy of the code, and lets it look for each with new seeds:
//
//     npm run test:mutants -- --minutes 10
//     npm run test:mutants -- --only fsync
//
// A seed counts if the code without the fault passes with it.

const { spawnSync } = require('child_process')
const fs = require('fs')
const os = require('os')
const path = require('path')
const { parseArgs } = require('util')

const ROOT = path.resolve(__dirname, '..', '..', '..')
/** What a run needs. */
const COPIED = ['package.json', 'index.js', 'promises.js', 'maintenance.js', 'lib', 'test/helpers', 'test/simulator']

/** What is wrong, the file, and what is replaced by what there. @type {Array<[string, string, string, string]>} */
const MUTANTS = [
  ['append: acknowledged without its fsync (`always`)', 'write/durability.js', "if (sync === 'always' || forced > this.synced) return written", 'if (forced > this.synced) return written'],
  ['append with `sync`, atomic batch: acknowledged without its fsync', 'write/durability.js', "if (sync === 'always' || forced > this.synced) return written", "if (sync === 'always') return written"],
  ['an fsync covers what is written while it runs', 'write/durability.js', 'this.synced = Math.max(this.synced, this.covers)', 'this.synced = Math.max(this.synced, this.progress.written)'],
  ['an fsync still covers what a failed write rolls back', 'write/durability.js', 'this.covers = Math.min(this.covers, end)', ''],
  ['a failed fsync counts as done', 'write/durability.js', 'if (err) this.fail(err)\n      else this.advance(covered)', 'this.advance(covered)'],
  ['a failed write is not truncated', 'write/states.js', "return work.mustTruncate ? 'truncate' : 'write'", "return 'write'"],
  ['recovery truncates nothing', 'recovery/recover.js', 'await io.truncate(kept)\n  }', '}'],
  ['recovery ends without an fsync', 'recovery/recover.js', '  await io.sync()\n  return name', '  return name'],
  ['recovery does not repeat deletions', 'recovery/recover.js', 'for (const { offset, data } of found.patches) await io.write(offset, data)', ''],
  ['recovery keeps a record that is not whole', 'recovery/find-end.js', 'if (end < blockSize) return from + start + end', 'if (end === 0) return from + start'],
  ['a deletion is not made durable by `sync`', 'write/deleter.js', 'if (!this.hasUnsynced && !this.hasRequests) return cb', 'return cb'],
  ['a trim frees blocks that are not durable', 'write/trimmer.js', 'if (durability.safeEnd <= start) await promised', 'if (durability.safeEnd < 0) await promised'],
  ['a trim goes one block too far', 'write/trimmer.js', 'start -= start % blockSize', 'start += blockSize - start % blockSize'],
  ['a compaction does not wait for the directory', 'space/switch-over.js', 'try {\n      await syncFolder(folder)', 'try {\n      syncFolder(folder)'],
  ['a compacted file is not fsynced', 'space/compaction.js', 'await this.syncFiles()\n    this.throwIfStopped()', 'this.throwIfStopped()'],
  ['a compaction does not repeat deletions', 'space/compaction.js', 'await repeatDeletions(this)', ''],
  ['a compaction misses what was appended last', 'space/switch-over.js', 'await compaction.catchUp()', ''],
  ['the owner stores again what it knows', 'sharing/session.js', 'const known = Math.max(0, client.highest - first + 1)', 'const known = 0'],
  ['a new owner believes that what it has truncated is stored', 'sharing/stored-runs.js', '  clip(candidates, end)\n', '\n'],
  ['a client does not send again what was on its way', 'sharing/remote-writer.js', 'for (const frame of packer.frames) frame.isSent = false\n    this.framesOnTheWay = 0', ''],
  ['a client forgets that a record was sent', 'sharing/remote-writer.js', 'this.sent = Math.max(this.sent, frame.last)', ''],
  ['a cursor is committed before its record is durable', 'cursors/named-cursor.js', 'await this.cursors.makeDurable(() => /** @type {Position} */ (this.next))', ''],
  ['a cursor is moved to the record before', 'cursors/named-cursor.js', 'return { id, seq, ...await tieOf(blocks, seq) }', 'return { id, seq, ...await tieOf(blocks, seq), next: seq }'],
  ['a reader takes what FILE.meta says of the compacted file for its own', 'read/followed-point.js', 'await this.io.checkPath().then(() => false, () => true)', 'false'],
  ['a reader that could not read the tail takes it for read', 'read/followed-tail.js', 'const { tailChanges } = followed\n', 'const { tailChanges } = followed\n    followed.shownTailChanges = tailChanges\n'],
  ['a reader does not look at deletions when it opens a log', 'read/followed-point.js', ' || current.id !== this.patchedId', ''],
  ['a callback that throws ends what others wait for', 'callbacks.js', 'process.nextTick(rethrow, err)', 'throw err']
]

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' }, only: { type: 'string', default: '' }, seed: { type: 'string', default: '1' } } })
const seconds = Number(values.minutes) * 60
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'mutants-'))
process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }))
for (const name of COPIED) fs.cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true })
fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'))
for (const mutant of MUTANTS) if (mutant[0].includes(values.only)) examine(mutant)

/** @param {[string, string, string, string]} mutant */
function examine ([what, file, from, to]) {
  const filename = path.join(folder, 'lib', file)
  const source = fs.readFileSync(filename, 'utf8')
  if (source.split(from).length !== 2) {
    process.exitCode = 1
    return console.log(`${what}: lib/${file} does not have this once: ${from}`)
  }
  let took = 0
  let seed = Number(values.seed)
  let found = null
  while (found === null && took < seconds) {
    fs.writeFileSync(filename, source.replace(from, () => to))
    const { output, failed, cpu } = run(seed, seconds - took)
    took += Math.max(1, cpu)
    fs.writeFileSync(filename, source)
    if (failed === null) break
    if (run(failed, 60, 1).failed === null) found = output
    seed = failed + 1
  }
  if (found === null) process.exitCode = 1
  console.log(`${what}: ${found === null ? `not found in ${Math.round(took)} s` : `found after ${Math.round(took)} s: ${found}`}`)
}

/**
 * @param {number} seed the first one
 * @param {number} time seconds
 * @param {number} [runs]
 * @returns {{ output: string, failed: number | null, cpu: number }} the seed that has failed, and the seconds of the processor that it took
 */
function run (seed, time, runs = Infinity) {
  const args = ['test/simulator/simulator.js', '--seed', String(seed), '--minutes', String(time / 60), '--first', ...(runs === Infinity ? [] : ['--runs', String(runs)])]
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', timeout: Math.ceil(time + 60) * 10_000 })
  const output = /seed (\d+): (.*)/.exec(stdout)
  const cpu = Number(/took (\S+) seconds/.exec(stdout)?.[1] ?? 0)
  if (output !== null) return { output: output[0].slice(0, 160), failed: Number(output[1]), cpu }
  if (status === 0) return { output: '', failed: null, cpu }
  // it has ended the run, so the seed is not printed
  return { output: `the run ended: ${stderr.trim().split('\n').find(line => line.includes('Error')) ?? status}`, failed: seed, cpu }
}
