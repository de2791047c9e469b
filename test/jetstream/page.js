'use strict'

// docs/jetstream.md: its example runs, and the server takes its configuration.

const fs = require('fs')
const path = require('path')
const { execFile, spawnSync } = require('child_process')
const test = require('tape')
const { testFolder } = require('../helpers/folder')
const { withNats, startServer } = require('../helpers/nats')

const ROOT = path.join(__dirname, '..', '..')
const page = fs.readFileSync(path.join(ROOT, 'docs', 'jetstream.md'), 'utf8')
/** The first block of code in a language. */
const blockIn = (language) => page.split(`\`\`\`${language}\n`)[1].split('```')[0]

withNats('docs/jetstream.md', (file) => {
  test('the example prints what it says', async (t) => {
    const server = await startServer(file)
    const code = blockIn('js')
    // the package can be required by its name from within itself
    const printed = await new Promise((resolve) => execFile(process.execPath, ['-e', code.replace('nats://127.0.0.1:4222', server.url)], { cwd: ROOT }, (err, stdout, stderr) => resolve(err ? stderr : stdout)))
    t.deepEqual(printed.trimEnd().split('\n'), [...code.matchAll(/console\.log\(.* \/\/ (.*)$/gm)].map(match => match[1]))
    await server.stop()
  })

  test('the server takes the configuration of each of three nodes, which fsyncs before it acknowledges', (t) => {
    const configuration = testFolder(t)('nats.conf')
    const conf = blockIn('conf')
    const compose = blockIn('yaml')
    fs.writeFileSync(configuration, conf)
    const names = [...compose.matchAll(/NAME: (\w+)/g)].map(match => match[1])
    t.deepEqual(names, [...conf.matchAll(/nats:\/\/(\w+):6222/g)].map(match => match[1]))
    for (const NAME of names) {
      const { status, stderr } = spawnSync(file, ['-t', '-c', configuration], { encoding: 'utf8', env: { ...process.env, NAME } })
      t.equal(status, 0, stderr)
    }
    t.match(conf, /sync_interval: always/)
    t.end()
  })
})
