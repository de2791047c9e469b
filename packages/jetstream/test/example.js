'use strict'

// examples/two-machines.js: two programs, each with a copy of one stream, and a view of it.

const path = require('path')
const { spawn } = require('child_process')
const test = require('tape')
const { testFolder } = require('../../../test/helpers/folder')
const { withServer } = require('./helpers/nats')

const EXAMPLE = path.join(__dirname, '../examples/two-machines.js')

withServer('two-machines', (shared) => {
  test('both see what either appends, and one that was killed goes on where it was', async (t) => {
    const folder = testFolder(t)
    const start = (name) => new Machine(folder(name), name, shared.server.url)
    const ada = start('ada')
    const grace = start('grace')
    ada.type('30 grace')
    const first = '{"ada":-30,"grace":30}'
    await Promise.all([ada.shows(first), grace.shows(first)])
    grace.child.kill('SIGKILL')
    await grace.ended
    ada.type('12 mary')
    const second = '{"ada":-42,"grace":30,"mary":12}'
    await ada.shows(second)
    const again = start('grace')
    await again.shows(second)
    again.type('5 ada')
    const third = '{"ada":-37,"grace":25,"mary":12}'
    await Promise.all([ada.shows(third), again.shows(third)])
    ada.child.stdin.end()
    again.child.stdin.end()
    t.deepEqual([await ada.ended, await again.ended], [0, 0], 'both end')
  })
})

class Machine {
  constructor (folder, name, server) {
    this.child = spawn(process.execPath, [EXAMPLE, folder, name, server])
    this.output = ''
    this.errors = ''
    this.onoutput = () => {}
    this.child.stdout.setEncoding('utf8').on('data', text => {
      this.output += text
      this.onoutput()
    })
    this.child.stderr.setEncoding('utf8').on('data', text => { this.errors += text })
    this.ended = new Promise(resolve => this.child.on('close', resolve))
  }

  /** @param {string} line */
  type (line) {
    this.child.stdin.write(`${line}\n`)
  }

  /** @param {string} line */
  async shows (line) {
    const failed = this.ended.then((code) => { throw new Error(`it ended with ${code}: ${this.errors}`) })
    failed.catch(() => {})
    while (!this.output.split('\n').includes(line)) await Promise.race([failed, new Promise(resolve => { this.onoutput = resolve })])
  }
}
