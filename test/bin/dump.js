'use strict'

// flumelog dump and get, which print records in the same way.

const fs = require('fs')
const test = require('tape')
const { filesIn, testFolder } = require('../helpers/folder')
const { refuses } = require('../helpers/command-line')
const { makeLog, deleteFrom, overwrite } = require('../helpers/logs')
const { flumelog } = require('../helpers/warm-flumelog')

const RECORDS = ['alpha', 'βήτα', 'gamma ray', 'delta'.repeat(5)]

test('dump prints one record per line, in each encoding', async (t) => {
  const file = testFolder(t)('log')
  const json = '{"b":[1,{"c":"d, [e]: {f}"},[]],"a":{},"10":1.50,"9":12345678901234567890,"s":"\\"\\\\"}'
  await makeLog(file, [...RECORDS, json])
  const all = [...RECORDS, json]
  const print = async (...args) => (await flumelog(['dump', file, ...args])).stdout
  const as = (encoding) => all.map(record => Buffer.from(record).toString(encoding) + '\n').join('')

  t.equal(await print(), as('utf8'), 'utf8')
  t.equal(await print('--encoding', 'hex'), as('hex'), 'hex')
  t.equal(await print('-e', 'base64'), as('base64'), 'base64')
  t.equal(await print('-e', 'raw'), all.join(''), 'raw: nothing between records')
  const last = await print('-e', 'json', '--reverse', '--limit', '1')
  t.equal(last, [
    '{',
    '  "b": [',
    '    1,',
    '    {',
    '      "c": "d, [e]: {f}"',
    '    },',
    '    []',
    '  ],',
    '  "a": {},',
    '  "10": 1.50,',
    '  "9": 12345678901234567890,',
    '  "s": "\\"\\\\"',
    '}',
    ''
  ].join('\n'), 'json: pretty, and not a digit or the order of a key is changed')
  refuses(t, await flumelog(['dump', file, '-e', 'json']), 1, /the record at offset 0 cannot be printed: not JSON: .*try --encoding utf8/, 'json of something else')
})

test('JSON of any depth is printed: only the first 100 levels are indented', async (t) => {
  const file = testFolder(t)('log')
  await makeLog(file, ['['.repeat(20000) + ']'.repeat(20000)])
  const { code, stdout } = await flumelog(['dump', file, '-e', 'json'])
  t.equal(code, 0)
  const lines = stdout.trimEnd().split('\n')
  t.equal(lines.map(line => line.trim()).join(''), '['.repeat(20000) + ']'.repeat(20000))
  t.deepEqual(lines.slice(98, 103).map(line => line.length - 1), [196, 198, 200, 200, 200])
})

test('raw and utf8 print all bytes unchanged', async (t) => {
  const file = testFolder(t)('log')
  const bytes = Buffer.from([0xff, 0x00, 0x80, 0x0a, 0xfe])
  await makeLog(file, [bytes])
  t.ok((await flumelog(['dump', file, '-e', 'raw'])).bytes.equals(bytes))
  t.ok((await flumelog(['dump', file])).bytes.equals(Buffer.concat([bytes, Buffer.from('\n')])))
})

test('--seqs prefixes records with the offset and a tab', async (t) => {
  const file = testFolder(t)('log')
  const seqs = await makeLog(file, RECORDS)
  const { stdout } = await flumelog(['dump', file, '--seqs'])
  t.equal(stdout, RECORDS.map((record, i) => `${seqs[i]}\t${record}\n`).join(''))
})

test('bounds, limit and reverse select the same records as those of a stream', async (t) => {
  const file = testFolder(t)('log')
  const seqs = await makeLog(file, Array.from({ length: 40 }, (_, i) => `record ${i}`), { blockSize: 64 })
  const cases = [
    [['--gt', seqs[5]], seq => seq > seqs[5]],
    [['--gte', seqs[5] + 1, '--lt', seqs[9]], seq => seq > seqs[5] && seq < seqs[9]],
    [['--lte', seqs[3]], seq => seq <= seqs[3]],
    [['--gte', -10, '--lte', seqs[0]], seq => seq === seqs[0]],
    [['--gt', seqs[39]], () => false],
    [['--tail', 0], () => false],
    [['-n', 3], seq => seq < seqs[3]],
    [['--reverse', '--limit', 2], seq => seq > seqs[37], true],
    [['-r', '--lt', seqs[2]], seq => seq < seqs[2], true]
  ]
  for (const [args, isChosen, isReverse] of cases) {
    const chosen = seqs.filter(isChosen)
    if (isReverse) chosen.reverse()
    const { code, stdout, stderr } = await flumelog(['dump', file, '-s', ...args.map(String)])
    t.equal(stdout, chosen.map(seq => `${seq}\trecord ${seqs.indexOf(seq)}\n`).join(''), args.join(' '))
    t.equal(code, 0)
    t.equal(stderr, '')
  }
})

test('dump skips deleted records, and prints nothing for an empty log', async (t) => {
  const name = testFolder(t)
  const seqs = await makeLog(name('log'), RECORDS)
  await deleteFrom(name('log'), [seqs[0], seqs[2]])
  t.equal((await flumelog(['dump', name('log')])).stdout, `${RECORDS[1]}\n${RECORDS[3]}\n`)
  await makeLog(name('empty'), [])
  const { code, stdout, stderr } = await flumelog(['dump', name('empty')])
  t.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '', stderr: '' })
})

test('records of all sizes are printed completely, regardless of the size of output chunks', async (t) => {
  const file = testFolder(t)('log')
  const sizes = [1, 65521, 65522, 100, 32768, 16384, 65522, 65522, 3, 65000, 536, 1]
  const records = sizes.map((size, i) => Buffer.alloc(size, 65 + i))
  await makeLog(file, records)
  for (const encoding of ['utf8', 'hex']) {
    const { stdout } = await flumelog(['dump', file, '-e', encoding])
    t.ok(stdout === records.map(record => record.toString(encoding) + '\n').join(''), encoding)
  }
})

test('dump does not change the file or its directory', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), RECORDS)
  overwriteEnd(name('log'), 'a torn record')
  const before = fs.readFileSync(name('log'))
  const { stdout } = await flumelog(['dump', name('log')])
  t.equal(stdout, RECORDS.join('\n') + '\n', 'what is whole')
  t.ok(fs.readFileSync(name('log')).equals(before))
  t.deepEqual(filesIn(name('.')), ['log'])
})

test('dump stops at a corrupt block after printing the records before it, and --skip-corrupt skips the block', async (t) => {
  const file = testFolder(t)('log')
  const records = Array.from({ length: 100 }, (_, i) => `record number ${i}`)
  const seqs = await makeLog(file, records, { blockSize: 256 })
  overwrite(file, 256 + 30, 'XX')
  overwrite(file, 1024 + 30, 'XX')
  const inBlocks = (...numbers) => records.filter((_, i) => numbers.includes(Math.floor(seqs[i] / 256)))
  const all = inBlocks(0, 2, 3, ...Array.from({ length: 20 }, (_, i) => i + 5))

  const stopped = await flumelog(['dump', file])
  t.equal(stopped.code, 1)
  t.equal(stopped.stdout, inBlocks(0).join('\n') + '\n')
  t.match(stopped.stderr, /^flumelog: .*log: block 1 is corrupt at offset 256: checksum mismatch: .*; use --skip-corrupt to skip it, or flumelog verify to list all corrupt blocks\n$/)

  const skipped = await flumelog(['dump', file, '--skip-corrupt'])
  t.equal(skipped.code, 1)
  t.equal(skipped.stdout, all.join('\n') + '\n')
  const lines = skipped.stderr.trimEnd().split('\n')
  t.equal(lines.length, 2)
  t.match(lines[0], /block 1 is corrupt .*; skipped 256 to 512$/)
  t.match(lines[1], /block 4 is corrupt .*; skipped 1024 to 1280$/)

  const backward = await flumelog(['dump', file, '--skip-corrupt', '--reverse'])
  t.equal(backward.stdout, all.reverse().join('\n') + '\n')
  t.equal(backward.code, 1)
})

test('get prints one record, or says why it cannot', async (t) => {
  const file = testFolder(t)('log')
  const seqs = await makeLog(file, [...RECORDS, '{"a":1}'])
  t.equal((await flumelog(['get', file, String(seqs[1])])).stdout, RECORDS[1] + '\n')
  t.equal((await flumelog(['get', file, String(seqs[1]), '-s', '-e', 'hex'])).stdout, `${seqs[1]}\t${Buffer.from(RECORDS[1]).toString('hex')}\n`)
  t.equal((await flumelog(['get', file, String(seqs[0]), '-e', 'raw'])).stdout, RECORDS[0])
  t.equal((await flumelog(['get', file, String(seqs[4]), '-e', 'json'])).stdout, '{\n  "a": 1\n}\n')
  await deleteFrom(file, [seqs[2]])
  refuses(t, await flumelog(['get', file, String(seqs[2])]), 1, /log: the record at offset \d+ has been deleted$/m, 'deleted')
  refuses(t, await flumelog(['get', file, '3']), 1, /no record starts at offset 3; use flumelog dump --seqs to list the offsets$/m, 'within a record')
  refuses(t, await flumelog(['get', file, '100000']), 1, /no record at offset 100000: the log ends at /, 'behind the end')
})

test('get of a record in a corrupt block is an error that refers to verify', async (t) => {
  const file = testFolder(t)('log')
  await makeLog(file, Array.from({ length: 20 }, (_, i) => `record ${i}`), { blockSize: 64 })
  overwrite(file, 10, 'XX')
  refuses(t, await flumelog(['get', file, '0']), 1, /block 0 is corrupt .*; use flumelog verify to list all corrupt blocks$/m, 'damaged')
})

/**
 * @param {string} file
 * @param {string} bytes
 */
function overwriteEnd (file, bytes) {
  overwrite(file, fs.statSync(file).size, bytes)
}

test('the encoding text is another name of utf8', async (t) => {
  const file = testFolder(t)('log')
  await flumelog(['append', file, '--encoding', 'text', '--quiet'], { input: 'größer\n' })
  t.equal((await flumelog(['dump', file, '--encoding', 'text'])).stdout, 'größer\n')
  t.equal((await flumelog(['dump', file, '--format', 'ndjson', '-e', 'text'])).code, 0, 'it is the default, too')
})
