'use strict'

// The features by which flumelogs are compared. Each is tested on each log; the result
// is a cell of the table. Throwing, an error, or no callback at all count as a no.
// Modules that only one feature needs are required there: many processes load this file.

const fs = require('fs')
const path = require('path')
const { spawn, spawnSync } = require('child_process')
const pull = require('pull-stream')
const { call } = require('./flumelogs')

const TRY = path.join(__dirname, 'try.js')

/**
 * @typedef {object} Feature
 * @property {string} name
 * @property {string} how it is tested
 * @property {(flumelog: import('./flumelogs').Flumelog, at: (name: string) => string) => Promise<boolean | string>} works
 */

/** @type {Feature[]} */
exports.features = [
  {
    name: 'a flumedb view sees every record',
    how: 'A flumedb database with a view is created on an empty log and 100 records are appended; the view must count them all.',
    async works (flumelog, at) {
      const Flume = require('flumedb')
      const Reduce = require('flumeview-reduce')
      const log = flumelog.open(at('log'))
      const db = Flume(log).use('count', Reduce(1, (count) => count + 1, null, null, 0))
      await new Promise(resolve => log.since.once(resolve))
      await call(cb => db.append(records(100), cb))
      return await call(cb => db.count.get({}, cb)) === 100
    }
  },
  {
    name: 'passes test-flumelog',
    how: 'The published suite is run unchanged. (It closes the log, for which flumelog-offset has no method.)',
    async works (flumelog, at) {
      const { status } = spawnSync(process.execPath, [TRY, flumelog.name, 'test-flumelog', at('.')])
      return status === 0
    }
  },
  {
    name: 'an acknowledged append is in the file',
    how: '2,000 records are appended at once; in the callback of every 20th, the record must be in the file.',
    async works (flumelog, at) {
      const log = flumelog.open(at('log'))
      const missing = []
      await Promise.all(records(2000).map(async (record) => {
        await flumelog.append(log, record)
        if (record.id % 20 === 0 && !isInFile(at('log'), record)) missing.push(record.id)
      }))
      return missing.length === 0
    }
  },
  {
    name: 'after close, every append is in the file',
    how: '20,000 records are appended at once, without waiting for callbacks; all must be in the file when `close` calls back.',
    async works (flumelog, at) {
      const log = flumelog.open(at('log'))
      if (log.close === undefined) return 'no close'
      const all = records(20000)
      for (const record of all) log.append(record, () => {})
      await call(cb => log.close(cb))
      const ids = new Set(fs.readFileSync(at('log'), 'latin1').match(/(?<="id":)\d+(?=,"text")/g))
      return ids.size === all.length
    }
  },
  {
    name: 'a torn last record is truncated on opening',
    how: 'The file is truncated 3 bytes before the end of its last record. When reopened, the log must contain all records but the last, and accept another one, which must still be there when the log is opened a third time.',
    async works (flumelog, at) {
      const all = records(50)
      await write(flumelog, at('log'), all.slice(0, 40))
      fs.truncateSync(at('log'), lastByte(at('log')) - 3)
      const log = await opened(flumelog, at('log'))
      const whole = await flumelog.read(log)
      if (!isSame(whole, all.slice(0, 39))) return false
      await flumelog.store(log, [all[49]])
      await flumelog.close(log)
      return isSame(await flumelog.read(await opened(flumelog, at('log'))), [...all.slice(0, 39), all[49]])
    }
  },
  {
    name: 'a corrupt byte is an error, not a record',
    how: 'One byte of a record in the middle of the file is changed such that it remains JSON. Getting that record must fail, getting the first one must succeed.',
    async works (flumelog, at) {
      const all = records(50)
      await write(flumelog, at('log'), all)
      const bytes = fs.readFileSync(at('log'))
      bytes[bytes.indexOf(mark(all[20])) + mark(all[20]).length + 10]++
      const sound = await opened(flumelog, at('log'))
      const seqs = (await flumelog.read(sound)).map(({ seq }) => seq)
      await flumelog.close(sound)
      fs.writeFileSync(at('log'), bytes)
      const log = await opened(flumelog, at('log'))
      if ((await flumelog.get(log, seqs[0])).id !== all[0].id) return false
      return isRejected(flumelog.get(log, seqs[20]))
    }
  },
  {
    name: 'get of an offset where no record starts is an error',
    how: 'Tested with every integer from 0 to 300.',
    async works (flumelog, at) {
      const log = await filled(flumelog, at('log'), records(50))
      const seqs = (await flumelog.read(log)).map(({ seq }) => seq)
      for (let seq = 0; seq <= 300; seq++) {
        if (!seqs.includes(seq) && !await isRejected(flumelog.get(log, seq))) return false
      }
      return true
    }
  },
  {
    name: 'an unusable path is reported to the callback',
    how: 'A log is opened on a directory, and a record is appended.',
    async works (flumelog, at) {
      fs.mkdirSync(at('folder'))
      return isRejected(flumelog.append(flumelog.open(at('folder')), records(1)[0]))
    }
  },
  {
    name: 'a failed write fails only its own appends',
    how: 'The file size is limited to 16 KiB. Appends beyond the limit must call back with an error, not throw, and every acknowledged record must be there when the log is reopened.',
    async works (flumelog, at) {
      const { status, stdout } = spawnSync('bash', ['-c', 'ulimit -f 16; exec "$@"', 'bash',
        process.execPath, TRY, flumelog.name, 'full', at('.')])
      if (status !== 0) return false
      const acknowledged = JSON.parse(stdout.toString())
      const stored = await flumelog.read(await opened(flumelog, at('log')))
      return acknowledged.length > 0 && isSame(stored.slice(0, acknowledged.length), acknowledged)
    }
  },
  {
    name: 'a second writer is refused',
    how: 'While the log is open, another process opens it and appends, which must fail.',
    async works (flumelog, at) {
      const log = await filled(flumelog, at('log'), records(1))
      await flumelog.read(log)
      const { status } = spawnSync(process.execPath, [TRY, flumelog.name, 'append', at('.')])
      await flumelog.read(log)
      return status !== 0
    }
  },
  {
    name: 'follows the appends of another process',
    how: 'A live stream is opened, on a read-only log if possible, and must yield what another process appends afterwards.',
    async works (flumelog, at) {
      await write(flumelog, at('log'), records(1))
      const log = flumelog.name === 'flumelog-random-access-file'
        ? require('../../..')(at('log'), { codec: require('flumecodec').json, readOnly: true })
        : flumelog.open(at('log'))
      const followed = new Promise(resolve => {
        pull(log.stream({ live: true, seqs: false }), pull.take(2), pull.collect((_, values) => resolve(values)))
      })
      await flumelog.read(log)
      const writer = spawn(process.execPath, [TRY, flumelog.name, 'append', at('.')], { stdio: 'ignore' })
      const code = await new Promise(resolve => writer.on('exit', resolve))
      return code === 0 && (await followed).length === 2
    }
  },
  {
    name: 'a live stream continues with new records',
    how: 'After a stream has yielded 50 records, 50 more are appended, which it must yield, too.',
    async works (flumelog, at) {
      const all = records(100)
      const log = await filled(flumelog, at('log'), all.slice(0, 50))
      const seen = []
      await new Promise((resolve, reject) => {
        pull(log.stream({ live: true }), pull.drain(({ value }) => {
          seen.push({ value })
          if (seen.length === 50) flumelog.append(log, all.slice(50)).catch(reject)
          if (seen.length === 100) resolve()
        }))
      })
      return isSame(seen, all)
    }
  },
  {
    name: 'reads backward',
    how: 'A stream with `reverse` must yield 50 records, last one first.',
    async works (flumelog, at) {
      const log = await filled(flumelog, at('log'), records(50))
      return isSame(await flumelog.read(log, { reverse: true }), records(50).reverse())
    }
  },
  {
    name: 'bounds of a stream may be any integers',
    how: '`gt`, `gte`, `lt` and `lte` are each tested with the offsets of 30 records, and with the integers before and after these.',
    async works (flumelog, at) {
      const log = await filled(flumelog, at('log'), records(30))
      const all = await flumelog.read(log)
      const isIn = {
        gt: (seq, bound) => seq > bound,
        gte: (seq, bound) => seq >= bound,
        lt: (seq, bound) => seq < bound,
        lte: (seq, bound) => seq <= bound
      }
      for (const { seq } of all) {
        for (const bound of [seq - 1, seq, seq + 1]) {
          for (const name of Object.keys(isIn)) {
            const expected = all.filter(({ seq }) => isIn[name](seq, bound)).map(({ value }) => value)
            if (!isSame(await flumelog.read(log, { [name]: bound }), expected)) return false
          }
        }
      }
      return true
    }
  },
  {
    name: 'binary search',
    how: 'The log must have a method that finds the first of 1,000 records with an id of at least 700.',
    async works (flumelog, at) {
      const log = await filled(flumelog, at('log'), records(1000))
      const seq = await call(cb => log.search(record => record.id - 700, cb))
      return (await flumelog.get(log, seq)).id === 700
    }
  },
  {
    name: 'deletes a record',
    how: 'A record is deleted. Its data must be gone from the file, getting it must fail, and all others must be there when the log is reopened.',
    async works (flumelog, at) {
      const all = records(50)
      const log = await filled(flumelog, at('log'), all)
      const { seq } = (await flumelog.read(log))[20]
      await flumelog.del(log, seq)
      await flumelog.close(log)
      if (isInFile(at('log'), all[20])) return false
      const again = await opened(flumelog, at('log'))
      const left = (await flumelog.read(again)).filter(({ value }) => value !== null)
      return isSame(left, all.filter(({ id }) => id !== all[20].id)) && isRejected(flumelog.get(again, seq))
    }
  },
  {
    name: 'reclaims the space of deleted records',
    how: '150 of 200 records are deleted; then the log’s method `compact` must make the file take less space on the disk.',
    async works (flumelog, at) {
      const log = await filled(flumelog, at('log'), records(200))
      const seqs = (await flumelog.read(log)).map(({ seq }) => seq)
      await flumelog.close(log)
      const before = fs.statSync(at('log')).blocks
      const { bare, open } = flumelog.kind
      const again = (bare ?? open)(at('log'))
      for (const seq of seqs.slice(50)) await call(cb => again.del(seq, cb))
      await call(cb => again.compact(cb))
      return fs.statSync(at('log')).blocks < before
    }
  },
  {
    name: 'records of any size',
    how: 'A record of 100,000 bytes, more than the largest block, is appended and read back. “with `large`”: if the log is opened with this option, and up to 256 MiB.',
    async works (flumelog, at) {
      const { open, large: openLarge } = flumelog.kind
      const log = (openLarge ?? open)(at('log'))
      const large = { id: 1, text: 'x'.repeat(100000) }
      await flumelog.store(log, [large])
      const [{ seq }] = await flumelog.read(log)
      const works = (await flumelog.get(log, seq)).text === large.text
      return works && openLarge !== undefined ? 'with `large`' : works
    }
  },
  {
    name: 'reads and writes files of flumelog-aligned-offset',
    how: 'The log opens such a file, must yield its 50 records, and appends 50 more; flumelog-aligned-offset must read all 100.',
    async works (flumelog, at) {
      const { Flumelog, KINDS } = require('./flumelogs')
      const aligned = new Flumelog(KINDS.find(({ name }) => name === 'flumelog-aligned-offset'))
      await write(aligned, at('log'), records(50))
      const log = await opened(flumelog, at('log'))
      if (!isSame(await flumelog.read(log), records(50))) return false
      await flumelog.store(log, records(100).slice(50))
      await flumelog.close(log)
      return isSame(await aligned.read(await opened(aligned, at('log'))), records(100))
    }
  }
]

// Shared by the features

/** Records of about 150 bytes, each with a unique mark. */
function records (count) {
  return Array.from({ length: count }, (_, i) => ({ id: i + 1, text: 'abcdefghij'.repeat(10 + i % 7) }))
}

const mark = ({ id }) => `"id":${id},"text":"`

const isInFile = (file, record) => fs.readFileSync(file).includes(mark(record))

const isSame = (items, values) => items.length === values.length &&
  items.every(({ value }, i) => value.id === values[i].id && value.text === values[i].text)

/** Whether it calls back with an error. */
async function isRejected (promise) {
  try {
    await promise
    return false
  } catch (err) {
    return !err.isThrown
  }
}

/** A new file with these records. */
async function write (flumelog, file, values) {
  const log = flumelog.open(file)
  await flumelog.store(log, values)
  await flumelog.close(log)
}

/** The log in a new file with these records, reopened. */
async function filled (flumelog, file, values) {
  await write(flumelog, file, values)
  return opened(flumelog, file)
}

async function opened (flumelog, file) {
  const log = flumelog.open(file)
  await new Promise(resolve => log.since.once(resolve))
  return log
}

/** The end of the records, which zeros may follow in a file. */
function lastByte (file) {
  const bytes = fs.readFileSync(file)
  let end = bytes.length
  while (bytes[end - 1] === 0) end--
  return end
}

// Tasks that run in processes of their own

exports.inProcess = {
  'test-flumelog' (flumelog, at) {
    require('test-flumelog')((file) => flumelog.open(at(path.basename(file))), () => {})
  },

  async append (flumelog, at) {
    const log = flumelog.open(at('log'))
    await flumelog.store(log, [{ id: 2, text: 'of another process' }])
  },

  /** Appends until a write fails. */
  async full (flumelog, at) {
    const log = flumelog.open(at('log'))
    const acknowledged = []
    let refused = false
    for (const record of records(1000)) {
      if (refused) break
      await flumelog.append(log, record).then(() => acknowledged.push(record), () => { refused = true })
    }
    fs.writeSync(1, JSON.stringify(acknowledged))
    process.exit(refused ? 0 : 1)
  }
}
