'use strict'

// flumelog dump: formats for other programs, and what it prints on a terminal.

const test = require('tape')
const fc = require('fast-check')
const { csvFormat } = require('../../bin/formats')
const { printable } = require('../../bin/escapes')
const { testFolder } = require('../helpers/folder')
const { refuses } = require('../helpers/command-line')
const { makeLog } = require('../helpers/logs')
const { flumelog } = require('../helpers/warm-flumelog')

test('ndjson is one JSON object per record: with its JSON, its text, or its bytes', async (t) => {
  const name = testFolder(t)
  const records = ['{"a": [1.50, 12345678901234567890],\n "10": "x y"}', 'no\n"json"', '"json"', ' 12 ', Buffer.from([0x7b, 0xff, 0x00]), '\x1b[2J\x9b']
  const seqs = await makeLog(name('log'), records)
  const { code, stdout } = await flumelog(['dump', name('log'), '--format', 'ndjson'])
  t.equal(code, 0)
  t.deepEqual(stdout.split('\n'), [
    `{"seq":${seqs[0]},"value":{"a":[1.50,12345678901234567890],"10":"x y"}}`,
    `{"seq":${seqs[1]},"value":"no\\n\\"json\\""}`,
    `{"seq":${seqs[2]},"value":"json"}`,
    `{"seq":${seqs[3]},"value":12}`,
    `{"seq":${seqs[4]},"base64":"e/8A"}`,
    `{"seq":${seqs[5]},"value":"\\u001b[2J\x9b"}`,
    ''
  ])
  const terminal = await flumelog(['dump', name('log'), '-f', 'ndjson', '--gte', 'end'], { columns: 80 })
  t.equal(JSON.parse(terminal.stdout).value, '\x1b[2J\x9b', 'on a terminal, it is the same JSON')
  t.doesNotMatch(terminal.stdout, /[^\P{Cc}\n]/u, 'without control characters')
})

test('csv has a header and a row per record, quoted as in RFC 4180', async (t) => {
  const name = testFolder(t)
  const seqs = await makeLog(name('log'), [
    '{"at":12345678901234567890,"by":{"name":"Ada, \\"Countess\\""},"text":"two\\nlines"}',
    '{"at":1.50,"by":{"name":""},"text":null}',
    '{"text":["a",{"b":true}]}'
  ])
  const dump = (...args) => flumelog(['dump', name('log'), '--format', 'csv', ...args])
  t.equal((await dump('--fields', 'at,by.name,text')).stdout,
    'at,by.name,text\n12345678901234567890,"Ada, ""Countess""","two\nlines"\n1.50,"",\n,,"[""a"",{""b"":true}]"\n')
  t.equal((await dump('--fields', 'at', '--seqs', '--tail', '1')).stdout, `seq,at\n${seqs[2]},\n`, 'with --seqs, the offset is the first column')
  t.equal((await dump('--fields', 'at')).stdout, 'at\n12345678901234567890\n1.50\n""\n', 'a row is never an empty line, which readers skip')
  const missing = await dump('--fields', 'at,bye,by.nam')
  t.deepEqual([missing.code, missing.stderr], [0, `${name('log')}: no record printed has \`bye\` or \`by.nam\`; check --fields\n`])
  t.equal((await dump('--fields', 'at', '--tail', '0')).stdout, 'at\n', 'without records, it is the header')

  await makeLog(name('text'), ['no json'])
  const { code, stderr } = await flumelog(['dump', name('text'), '--format', 'csv', '--fields', 'at'])
  t.equal(code, 1)
  t.match(stderr, /^flumelog: .*text: the record at offset 0 cannot be printed: not JSON: .*; --format csv needs records that are JSON\n$/)
})

test('any text survives csv', (t) => {
  const field = fc.array(fc.constantFrom('a', '"', ',', '\n', '\r', ' ', 'é')).map(characters => characters.join(''))
  fc.assert(fc.property(fc.array(fc.tuple(field, field), { minLength: 1 }), (rows) => {
    const { print } = csvFormat(['0', '1'])
    const lines = rows.map(row => print(Buffer.from(JSON.stringify(row)), 0) + '\n')
    return JSON.stringify(readCsv(lines.join(''))) === JSON.stringify(rows)
  }))
  t.pass('for 100 tables')
  t.end()
})

/** A reader of RFC 4180, a character at a time. */
function readCsv (text) {
  const rows = [['']]
  let isQuoted = false
  for (let i = 0; i < text.length; i++) {
    const row = rows.at(-1)
    if (isQuoted && text[i] === '"' && text[i + 1] === '"') row[row.length - 1] += text[i++]
    else if (text[i] === '"') isQuoted = !isQuoted
    else if (!isQuoted && text[i] === ',') row.push('')
    else if (!isQuoted && text[i] === '\n') rows.push([''])
    else row[row.length - 1] += text[i]
  }
  return rows.slice(0, -1)
}

test('control characters of records do not reach a terminal, in any encoding or command', async (t) => {
  const name = testFolder(t)
  const title = '\x1b]0;owned\x07'
  await makeLog(name('log'), [Buffer.concat([Buffer.from(`a\tb\r\n${title}\x9b1m é`), Buffer.from([0x9b, 0xc3])])])
  const escaped = 'a\tb\\u000d\n\\u001b]0;owned\\u0007\\u009b1m é\\x9b\\xc3'
  const print = async (...args) => (await flumelog(args.map(arg => arg === 'log' ? name('log') : arg), { columns: 80 })).stdout
  t.equal(await print('dump', 'log'), escaped + '\n')
  t.equal(await print('dump', 'log', '-e', 'raw'), escaped)
  t.equal(await print('get', 'log', '0', '--seqs'), `0\t${escaped}\n`)
  await makeLog(name('json'), [`{"a":"${'\x7f'}"}`])
  t.equal(await print('dump', name('json'), '-e', 'json'), '{\n  "a": "\\u007f"\n}\n')
  t.equal(await print('dump', name('json'), '-f', 'csv', '--fields', 'a'), 'a\n\\u007f\n')
  t.equal(await print('search', name('json'), '-p', 'a', '-v', 'a'), '{"a":"\\u007f"}\n')
  refuses(t, await flumelog(['dump', 'missing\x1b[2J']), 1, /missing\\u001b\[2J: no such file/, 'nor do those of names')
})

test('whatever bytes a record has, what is printed on a terminal has no control characters, and harmless text is unchanged', (t) => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 30 }), (bytes) => !/[^\P{Cc}\t\n]|\ufffd/u.test(printable(Buffer.from(bytes)))), { numRuns: 1000 })
  const isHarmless = (text) => !/(?!\u200d)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text)
  fc.assert(fc.property(fc.string({ unit: 'grapheme' }).filter(isHarmless), (text) => printable(Buffer.from(text)) === text))
  t.pass('for 1,100 records')
  t.end()
})
