'use strict'

// A plain file with one line of JSON per record, without any library.

const fs = require('fs')
const path = require('path')
const { once } = require('events')

const NEWLINE = 10
const LINE_END = Buffer.from([NEWLINE])

module.exports = {
  name: 'JSON lines',
  kind: 'file',
  note: 'a plain file, written through a write stream; supports sequential reads only',
  async open (folder) {
    const filename = path.join(folder, 'records.jsonl')
    const stream = fs.createWriteStream(filename, { flags: 'a' })
    await once(stream, 'open')
    return {
      append: (data, cb) => stream.write(Buffer.concat([data, LINE_END]), cb),
      async read (onValue) {
        let rest = Buffer.alloc(0)
        for await (const chunk of fs.createReadStream(filename)) {
          const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
          let start = 0
          for (let end; (end = bytes.indexOf(NEWLINE, start)) !== -1; start = end + 1) onValue(bytes.subarray(start, end))
          rest = bytes.subarray(start)
        }
      },
      close: () => new Promise(resolve => stream.close(resolve))
    }
  }
}
