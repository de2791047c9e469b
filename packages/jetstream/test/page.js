'use strict'

// The pages of this package: their examples run, and the server accepts their configuration.

const fs = require('fs')
const path = require('path')
const { execFile, spawnSync } = require('child_process')
const test = require('tape')
const { testFolder } = require('../../../test/helpers/folder')
const { openLog } = require('./helpers/jetstream')
const { withNats, startServer, startCluster } = require('./helpers/nats')

const ROOT = path.join(__dirname, '..')
const read = (page) => fs.readFileSync(path.join(ROOT, page), 'utf8')
/** In the order in which they are read: copies.md copies what the example of README.md has appended. */
const PAGES = ['README.md', 'cursors.md', 'partitions.md', 'copies.md']
/** The first block of operating.md in a language. */
const blockIn = (language) => read('operating.md').split(`\`\`\`${language}\n`)[1].split('```')[0]

withNats('the pages of flumelog-jetstream', (file) => {
  test('the examples print what they say', async (t) => {
    const server = await startServer(file)
    const folder = testFolder(t)
    for (const [, block] of PAGES.map(read).join('\n').matchAll(/^```js\n([^]*?)^```/gm)) {
      const code = block.replaceAll('nats://127.0.0.1:4222', server.url).replaceAll("'data/", `'${folder('')}/`)
      // the package can be required by its name from within itself
      const printed = await new Promise((resolve) => execFile(process.execPath, ['-e', code], { cwd: ROOT }, (err, stdout, stderr) => resolve(err ? stderr : stdout)))
      t.deepEqual(printed.trimEnd().split('\n'), [...code.matchAll(/console\.log\(.* \/\/ (.*)$/gm)].map(match => match[1]))
    }
    await server.stop()
  })

  test('the server accepts the configuration of each of three nodes, which fsyncs before it acknowledges', (t) => {
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

  test('three servers with that configuration store a stream with three replicas', async (t) => {
    const configurationOf = ({ name, port, clusterPort, clusterPorts, folder }) => {
      const names = [...blockIn('yaml').matchAll(/NAME: (\w+)/g)].map(match => match[1])
      return [
        ['$NAME', name],
        ['port: 4222', `host: 127.0.0.1, port: ${port}`],
        ['port: 6222', `host: 127.0.0.1, port: ${clusterPort}`],
        ['"/data"', JSON.stringify(folder)],
        ...names.map((name, i) => [`${name}:6222`, `127.0.0.1:${clusterPorts[i]}`])
      ].reduce((text, [from, to]) => {
        if (!text.includes(from)) throw new Error(`operating.md: no ${from}`)
        return text.replace(from, to)
      }, blockIn('conf'))
    }
    const servers = await startCluster(file, { configurationOf })
    const log = openLog({ url: servers.map(({ url }) => url) }, { replicas: 3, timeout: 60_000 })
    t.equal(await log.append('a record'), 1)
    await servers[0].stop()
    t.equal(await log.append('another one'), 2, 'without one of them')
    t.equal(String(await log.get(1)), 'a record')
    await log.close()
    for (const server of servers) await server.stop()
  })
})
