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
  ['append: acknowledged without its fsync (`always`)', 'write/durability.js', "if (sync === 'always' || syncTo > this.synced) return written", 'if (syncTo > this.synced) return written'],
  ['append with `sync`, atomic batch: acknowledged without its fsync', 'write/durability.js', "if (sync === 'always' || syncTo > this.synced) return written", "if (sync === 'always') return written"],
  ['an fsync covers what is written while it runs', 'write/durability.js', 'this.synced = Math.max(this.synced, this.covers)', 'this.synced = Math.max(this.synced, this.writer.written)'],
  ['an fsync still covers what a failed write rolls back', 'write/durability.js', 'this.covers = Math.min(this.covers, end)', ''],
  ['fsyncs of a file run at the same time', 'storage/file-io.js', 'if (this.isSyncing) {', 'if (this.waitingSyncs.length < 0) {'],
  ['an fsync after one that has failed counts', 'storage/file-io.js', 'this.syncFailure ??= err', ''],
  ['a failed fsync counts as done', 'write/durability.js', 'if (err) this.fail(err)\n      else this.advance()', 'this.advance()'],
  ['a failed write is not truncated', 'write/committer.js', 'if (isExtended) this.truncate(finish)\n    else finish()', 'finish()'],
  ['an append whose write can neither be stored nor truncated counts as not stored', 'write/committer.js', "if (err) durability.fail(errors.failed(file.filename, err, 'the truncation after a failed write'))", ''],
  ['recovery truncates nothing', 'recovery/recover.js', 'await io.truncate(kept)\n  }', '}'],
  ['recovery ends without an fsync', 'recovery/recover.js', '  await io.sync()\n  return name', '  return name'],
  ['recovery does not write again what a failed fsync has left unwritten', 'recovery/recover.js', 'await rewrite(io, kept - found.recovered, kept)', ''],
  ['recovery does not repeat deletions', 'recovery/recover.js', 'for (const patch of found.patches) await writePatch(io, patch, blockSize)', ''],
  ['recovery keeps a record that is not whole', 'recovery/find-end.js', 'if (end < blockSize) return from + start + end', 'if (end === 0) return from + start'],
  ['a deletion is not made durable by `sync`', 'write/deleter.js', "if (this.writer.state === 'closed' || (!this.hasUnsynced && !this.hasRequests)) return cb", 'return cb'],
  ['a trim frees blocks that are not durable', 'write/trimmer.js', 'if (durability.recoveryPoint <= start) await promised', 'if (durability.recoveryPoint < 0) await promised'],
  ['a trim goes one block too far', 'write/trimmer.js', 'start -= start % blockSize', 'start += blockSize - start % blockSize'],
  ['a compaction does not wait for the directory', 'space/switch-over.js', 'try {\n      await syncFolder(folder)', 'try {\n      syncFolder(folder)'],
  ['a compacted file is not fsynced', 'space/compaction.js', 'await this.syncFiles()\n    this.throwIfStopped()', 'this.throwIfStopped()'],
  ['a compaction does not repeat deletions', 'space/compaction.js', 'await repeatDeletions(this)', ''],
  ['a compaction misses what was appended last', 'space/switch-over.js', 'await compaction.catchUp()', ''],
  ['a new owner stores again what the one before has stored', 'sharing/known-clients.js', 'runs.filter(run => run.end <= end)', '[]'],
  ['a new owner believes that what it has truncated is stored', 'sharing/known-clients.js', 'runs.filter(run => run.end <= end)', 'runs'],
  ['a client does not send again what was on its way', 'sharing/remote-writer.js', '[...this.inFlight, ...this.packer.queue]', 'this.packer.queue'],
  ['the owner does not compare the condition of an append', 'sharing/server.js', 'if (after !== null && appender.lastAppended !== after) {', 'if (after !== null && appender.lastAppended < after) {'],
  ['a condition is compared with what is stored only', 'write/appender.js', 'this.refusal === null && this.lastAppended !== after', 'this.refusal === null && this.lastSeq !== after'],
  ['a client that was refused does not see the record because of which', 'sharing/remote-writer.js', 'this.end = Math.max(this.end, end)', ''],
  ['a client forgets that a record was sent', 'sharing/remote-writer.js', 'this.sent = Math.max(this.sent, item.last)', ''],
  ['a cursor is committed before its record is durable', 'cursors/named-cursor.js', 'await this.cursors.makeDurable(() => /** @type {Position} */ (this.next))', ''],
  ['a cursor is moved to the record before', 'cursors/named-cursor.js', 'return { id, seq, ...await tieOf(blocks, seq) }', 'return { id, seq, ...await tieOf(blocks, seq), next: seq }'],
  ['a reader takes what FILE.meta says of the compacted file for its own', 'read/followed-log.js', 'await io.checkPath().then(() => true, () => false)', 'true'],
  ['a reader is not told of a trim', 'read/followed-log.js', 'if (found.start > blocks.start) blocks.trim(found.start)', ''],
  ['a reader keeps blocks in which records were deleted since', 'read/followed-log.js', 'if (!isDeepStrictEqual(overrides.get(number), known.get(number))) blocks.invalidate(number)', ''],
  ['a reader that could not read the tail takes it for read', 'read/followed-log.js', '      const next = this.tailOf(found)\n', '      const next = this.tailOf(found)\n      Object.assign(this, { point, state: end.state })\n'],
  ['a reader does not look at deletions that came while it read the end of the log', 'read/visible-end.js', 'isSame(own, await readOwn(io)) && (end', '(end'],
  ['a reader shows what is written and not acknowledged', 'read/visible-end.js', 'const end = Math.min(size, Math.max(point.acknowledged ?? known, told))', 'const end = size'],
  ['a reader shows a write that failed while it looked at a log that was closed (873ec1a1)', 'read/visible-end.js', 'isSame(own, await readOwn(io)) && (end.point?.isHeld || await io.size() >= size)', 'end !== null'],
  ['a reader takes a valid block as it is in the file, though FILE.meta has deletions for it (47e8643b)', 'read/block-loader.js', 'if (override !== undefined) applyPatches', 'if (override !== undefined && findProblem(buffer, checksum) !== null) applyPatches'],
  ['a reader takes a block that was rewritten while it was read (92651d14)', 'read/block-loader.js', 'if (follower === null || loaded.every(block => this.isSelfVerified(block))) {', 'if (loaded !== null) {'],
  ['a reader that has read what is new does not look whether it was rewritten meanwhile (92651d14)', 'read/followed-log.js', 'if (published === null || follower.isOver) return false\n    if (completed', 'if (follower.isOver) return false\n    if (completed'],
  ['a reader does not look whether the block in which the log ended was rewritten while it was read (beb4d02c)', 'read/followed-log.js', 'await this.isUnchanged(end.state)', 'true'],
  ['a busy reader misses a deletion that was recorded, done and dropped', 'read/followed-log.js', 'return point.writer !== before.writer || point.dropped > lastNumber(before)', 'return false'],
  ['a reader of a closed log misses what a writer deletes that comes and goes', 'read/followed-log.js', 'return state !== this.state\n', 'return false\n'],
  ['a reader takes a block that was freed since it was shown for another one (4142bb64)', 'read/followed-log.js', 'if (now.isHole || isStillThere', 'if (isStillThere'],
  ['a reader takes a trimmed block for corrupt', 'read/block-loader.js', 'if (number * blockSize < start) error', 'if (number < 0) error'],
  ['a reader that moves to the compacted file does not know what was deleted since (cdc03a59)', 'read/followed-log.js', 'this.override(this.point)', ''],
  ['zeros are written before their deletion is durable', 'write/recorded-deletions.js', '    await this.makeDurable()\n    await this.writeZeros()', '    await this.writeZeros()'],
  ['FILE.meta counts as durable though its fsync has failed', 'storage/metadata-file.js', '    } catch (err) {\n      this.mustReplace = true\n      throw named(err, this.filename)\n    } finally', '    } catch {\n    } finally'],
  ['FILE.meta is not written again after a failed fsync of its earlier writer', 'storage/metadata-file.js', '      writeFully(fd, bytes.subarray(0, fs.readSync(fd, bytes, 0, bytes.length, 0)), 0)\n', ''],
  ['entries of FILE.meta count behind one that is not whole', 'storage/metadata-text.js', 'if (entry === null || !this.addEntry(entry)) break', 'if (entry !== null && !this.addEntry(entry)) break'],
  ['the name of FILE.meta is not fsynced', 'storage/metadata-file.js', 'await syncFolder(this.folder)', 'await Promise.resolve()'],
  ['a snapshot of FILE.meta misses what was appended meanwhile', 'storage/metadata-file.js', 'Buffer.concat((this.since ?? []).map(({ bytes }) => bytes))', 'Buffer.alloc(0)'],
  ['a compaction interrupts what is acknowledged together (6ee1d739)', 'write/states.js', 'hasOperations && !isPartial', 'hasOperations'],
  ['what a failed compaction could not remove stays (73e6998c)', 'space/compaction.js', '    await removeUnfinished(path)\n    await settleMap(path, String(this.compacting.id))\n    const', '    const'],
  ['an offset map gets its name before the log of which it is (cd175d8a)', 'space/switch-over.js', '  offsetMap.load()\n', '  offsetMap.load()\n  fs.renameSync(namesOf(path).unfinishedMap, namesOf(path).map)\n'],
  ['a reader that opens the log while it is compacted fails (61f3f55d)', 'space/open-reader.js', 'if (!isReplaced || opens === MAX_OPENS) throw err', 'throw err'],
  ['a reader that opens a log while that is recovered fails (1f9bbbc5)', 'read/visible-end.js', "/** @type {any} */ (err).code !== 'EPARTIALREAD' && isSame(own", 'isSame(own'],
  ['an offset map is replaced by a copy that need not be durable', 'space/offset-map.js', ' && await idIn(map).catch(() => null) !== id', ''],
  ['a new owner believes that records are gone which a failed fsync has left (cace744a)', 'write/committer.js', '  forgetUnacknowledged () {\n', '  forgetUnacknowledged () {\n    this.writer.clients.rollBack(this.acknowledged)\n'],
  ['the name counts as durable that a killed process has given FILE.meta', 'storage/metadata-file.js', 'this.isNameUnsynced = metadata !== null', 'this.isNameUnsynced = false'],
  ['FILE.meta tells of the compacted file only, before the name of that is durable', 'recovery/recover-end.js', '    await io.metadata.syncName()\n', ''],
  ['readers move to a compacted log by lookups in a file', 'space/switch-over.js', '  offsetMap.load()\n', ''],
  ['a cursor is at a record of which what was sent with it is not durable', 'cursors/named-cursors.js', 'seq >= durability.recoveryPoint', 'seq >= durability.synced'],
  ['callers are told of a failed write before its truncation is durable', 'write/committer.js', '      deletions.truncated()\n      durability.syncAll(cb)', '      deletions.truncated()\n      cb()'],
  ['what FILE.meta says of an empty log is taken for that of any', 'recovery/belonging.js', '(next.end > 0 || size === 0) && ', ''],
  ['a replaced log does not wait for the name of the one before', 'maintenance/replace-log.js', '  await syncFolder(folder)\n  await settleMap(name, generationOf(own?.metadata).id)\n', ''],
  ['a callback that throws ends what others wait for', 'callbacks.js', 'process.nextTick(rethrow, err)', 'throw err']
]

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    // a part of the name; several: any of them
    only: { type: 'string', multiple: true, default: [''] },
    seed: { type: 'string', default: '1' },
    // another fault than those above: a patch of lib/, as `git diff` makes it
    patch: { type: 'string', multiple: true, default: [] },
    // whether each fault can still be put in; nothing is run
    check: { type: 'boolean', default: false }
  }
})
const seconds = Number(values.minutes) * 60
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'mutants-'))
process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))
const sound = path.join(folder, 'sound')
const faulty = path.join(folder, 'faulty')
for (const name of COPIED) fs.cpSync(path.join(ROOT, name), path.join(sound, name), { recursive: true })
fs.cpSync(sound, faulty, { recursive: true })
for (const copy of [sound, faulty]) fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'))

if (values.patch.length > 0) for (const patch of values.patch) examinePatch(path.resolve(patch))
else for (const mutant of MUTANTS) if (values.only.some(part => mutant[0].includes(part))) examine(mutant)

/** @param {[string, string, string, string]} mutant */
function examine ([what, file, from, to]) {
  const filename = path.join(faulty, 'lib', file)
  const source = fs.readFileSync(path.join(sound, 'lib', file), 'utf8')
  if (source.split(from).length !== 2) {
    process.exitCode = 1
    return console.log(`${what}: lib/${file} does not have this once: ${from}`)
  }
  if (values.check) return
  fs.writeFileSync(filename, source.replace(from, () => to))
  search(what)
  fs.writeFileSync(filename, source)
}

/** @param {string} filename */
function examinePatch (filename) {
  const { status, stdout } = spawnSync('patch', ['-p1', '--force', '-i', filename], { cwd: faulty, encoding: 'utf8' })
  if (status === 0) search(path.basename(filename))
  else console.log(`${filename}: ${stdout}`)
  fs.rmSync(path.join(faulty, 'lib'), { recursive: true })
  fs.cpSync(path.join(sound, 'lib'), path.join(faulty, 'lib'), { recursive: true })
}

/** @param {string} what is wrong with the code in `faulty` */
function search (what) {
  let took = 0
  let runs = 0
  let seed = Number(values.seed)
  let found = null
  while (found === null && took < seconds) {
    const done = run(faulty, seed, seconds - took)
    took += Math.max(1, done.cpu)
    runs += done.runs
    if (done.failure === null) break
    seed += done.runs
    if (run(sound, seed - 1, 60, 1).failure === null) found = done.failure
    else console.log(`without the fault, too: ${done.failure}`)
  }
  if (found === null) process.exitCode = 1
  console.log(`${what}: ${found === null ? 'not found in' : 'found after'} ${runs} runs, ${Math.round(took)} s${found === null ? '' : `: ${found}`}`)
}

/**
 * @param {string} cwd
 * @param {number} seed the first one
 * @param {number} time seconds of the processor
 * @param {number} [most] runs
 * @returns {{ runs: number, failure: string | null, cpu: number }} the last of the runs has failed, or none has
 */
function run (cwd, seed, time, most = Infinity) {
  const args = ['test/simulator/simulator.js', '--first', '--progress', '--seed', String(seed), '--minutes', String(time / 60), ...(most === Infinity ? [] : ['--runs', String(most)])]
  // one that never ends is ended by its limit
  const { stdout, stderr, status, signal } = spawnSync('sh', ['-c', `ulimit -t ${Math.ceil(time + 60)}; exec "$0" "$@"`, process.execPath, ...args], { cwd, encoding: 'utf8', maxBuffer: 2 ** 28 })
  if (signal === 'SIGTERM') throw new Error('the run was ended from outside')
  const starts = [...stdout.matchAll(/^run (\d+) after (\S+) seconds$/gm)]
  const runs = starts.length
  const failure = /^seed \d+: .*/m.exec(stdout)
  const cpu = Number(/took (\S+) seconds/.exec(stdout)?.[1] ?? starts.at(-1)?.[2] ?? 0)
  if (failure !== null) return { runs, failure: failure[0].slice(0, 160), cpu }
  if (status === 0) return { runs, failure: null, cpu }
  return { runs, failure: `seed ${starts.at(-1)?.[1]}: the process ended: ${stderr.trim().split('\n').find(line => line.includes('Error')) ?? status}`, cpu }
}
