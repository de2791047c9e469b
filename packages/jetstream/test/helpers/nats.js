'use strict'

// Real NATS servers: one, or a cluster of three, on ports of their own, with files in a temporary folder.

const crypto = require('crypto')
const fs = require('fs')
const net = require('net')
const os = require('os')
const path = require('path')
const { spawn, spawnSync } = require('child_process')
const test = require('tape')
const { processFolder } = require('../../../../test/helpers/folder')

/** The first that can do all that is needed: batches that are stored as a whole. */
const LEAST = [2, 12]
const HOW = 'go install github.com/nats-io/nats-server/v2@v2.15.2'
const NO_SERVER = `there is no nats-server ${LEAST.join('.')} or later: ${HOW}`
/** Milliseconds. */
const START_TIMEOUT = 30_000

/** @returns {{ file: string, version: string } | null} the first server in PATH, or where Go installs programs, that is new enough */
function findServer () {
  const folders = [...(process.env.PATH ?? '').split(path.delimiter), path.join(os.homedir(), 'go', 'bin')]
  for (const folder of folders) {
    const file = path.join(folder, 'nats-server')
    if (!fs.existsSync(file)) continue
    const version = /v(\d+\.\d+\.\d+)/.exec(spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout)?.[1] ?? '0.0.0'
    const [major, minor] = version.split('.').map(Number)
    if (major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1])) return { file, version }
  }
  return null
}

/**
 * Below the ports that the system gives to connections (from 32768 on Linux, from 49152 elsewhere): one that tries to reach a
 * server while it restarts may get the server's own port otherwise, and keep it.
 */
const [FIRST_PORT, END_PORT] = [20_000, 32_768]
/** Those that this process has been given. @type {Set<number>} */
const givenPorts = new Set()

/** @returns {Promise<number>} a port that nothing listens on */
function freePort () {
  const port = FIRST_PORT + crypto.randomInt(END_PORT - FIRST_PORT)
  if (givenPorts.has(port)) return freePort()
  givenPorts.add(port)
  return new Promise((resolve, reject) => {
    const server = net.createServer()
    server.on('error', (/** @type {NodeJS.ErrnoException} */ error) => error.code === 'EADDRINUSE' ? resolve(freePort()) : reject(error))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(port)))
  })
}

/** All that run, to be killed when the process exits. @type {Set<import('child_process').ChildProcess>} */
const running = new Set()
// before their folders are deleted
process.prependListener('exit', () => { for (const child of running) child.kill('SIGKILL') })

/** Kills the servers of which it was told last when this process has ended, also by a signal. @type {import('child_process').ChildProcess | null} */
let guard = null

function tellGuard () {
  const pids = [...running].map(({ pid }) => pid).join(' ')
  if (guard !== null) {
    guard.stdin.write(`${pids}\n`)
    return
  }
  // it knows the first one from the start: Bun may write later, when this process has been killed
  guard = spawn('sh', ['-c', 'last=$0; while read -r pids; do last=$pids; done; kill -KILL $last 2>/dev/null', pids], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  guard.unref()
  // Deno's has none
  guard.stdin.unref?.()
  guard.stdin.on('error', () => {})
}

class Server {
  /**
   * @param {string} file of the program
   * @param {string} folder for its configuration and its data
   * @param {number} port
   * @param {string} extra more of the configuration
   * @param {object} [options]
   * @param {boolean} [options.isSynced] whether it fsyncs before it acknowledges
   * @param {string} [options.store] more of the configuration of JetStream
   * @param {string} [options.storeFolder] for its data, instead of one in the folder
   * @param {string} [options.configuration] instead of that made here
   */
  constructor (file, folder, port, extra, { isSynced = true, store = '', storeFolder = path.join(folder, String(port)), configuration } = {}) {
    this.file = file
    this.port = port
    this.url = `nats://127.0.0.1:${port}`
    this.store = storeFolder
    this.configuration = path.join(folder, `${port}.conf`)
    fs.writeFileSync(this.configuration, configuration ?? `
host: 127.0.0.1
port: ${port}
server_name: n${port}
jetstream { store_dir: ${JSON.stringify(storeFolder)}${isSynced ? ', sync_interval: always' : ''}${store && `, ${store}`} }
${extra}`)
    /** @type {import('child_process').ChildProcess | null} */
    this.child = null
    this.output = ''
  }

  /** Starts it, and waits until it takes connections. */
  start () {
    return new Promise((resolve, reject) => {
      const child = spawn(this.file, ['-c', this.configuration], { stdio: ['ignore', 'ignore', 'pipe'] })
      this.child = child
      running.add(child)
      tellGuard()
      let output = ''
      const timer = setTimeout(() => reject(new Error(`the server did not start: ${output}`)), START_TIMEOUT)
      child.stderr.setEncoding('utf8').on('data', (text) => {
        output += text
        this.output = output.slice(-20_000)
        if (!output.includes('Server is ready')) return
        clearTimeout(timer)
        resolve(undefined)
      })
      child.on('exit', () => {
        running.delete(child)
        tellGuard()
        clearTimeout(timer)
        reject(new Error(`the server ended: ${output}`))
      })
    })
  }

  /** @param {NodeJS.Signals} signal */
  stop (signal = 'SIGKILL') {
    return new Promise((resolve) => {
      const { child } = this
      if (child === null || child.exitCode !== null || child.signalCode !== null) return resolve(undefined)
      child.on('exit', resolve)
      child.kill(signal)
      // one that was stopped notices nothing else
      process.kill(child.pid, 'SIGCONT')
    })
  }

  /** Kills it, as a crash would, and starts it again. @param {NodeJS.Signals} [signal] */
  async restart (signal) {
    await this.stop(signal)
    await this.start()
  }

  /** @param {NodeJS.Signals} signal */
  send (signal) {
    // Deno's `kill` of a child does not continue one
    process.kill(this.child.pid, signal)
  }
}

/**
 * @param {string} file of the program
 * @param {string} [extra] more of the configuration
 * @param {{ store?: string }} [options] see Server
 * @returns {Promise<Server>} that has been started
 */
async function startServer (file, extra = '', options) {
  const server = new Server(file, processFolder(), await freePort(), extra, options)
  await server.start()
  return server
}

/**
 * @param {string} file of the program
 * @param {object} [options]
 * @param {string} [options.folder]
 * @param {boolean} [options.isSynced] whether the servers fsync before they acknowledge
 * @param {(node: { name: string, port: number, clusterPort: number, clusterPorts: number[], folder: string }) => string | undefined} [options.configurationOf] each of them
 * @returns {Promise<Server[]>} three of a cluster, which have been started
 */
async function startCluster (file, { folder = processFolder(), isSynced = true, configurationOf = () => undefined } = {}) {
  const ports = await Promise.all(Array.from({ length: 3 }, freePort))
  const clusterPorts = await Promise.all(ports.map(freePort))
  const routes = clusterPorts.map(port => `"nats://127.0.0.1:${port}"`).join(', ')
  const servers = ports.map((port, i) => new Server(file, folder, port, `cluster { name: c, host: 127.0.0.1, port: ${clusterPorts[i]}, routes: [${routes}] }`, {
    isSynced,
    configuration: configurationOf({ name: `n${i + 1}`, port, clusterPort: clusterPorts[i], clusterPorts, folder: path.join(folder, String(port)) })
  }))
  await Promise.all(servers.map(server => server.start()))
  return servers
}

/**
 * Runs tests with a server that they share, which is killed after them. Without one, a line says so; with CI set, that is a failure, unless TEST_WITHOUT_NATS is, too.
 * @param {string} what is tested
 * @param {(file: string) => void} define called with the path of the program
 */
function withNats (what, define) {
  const found = findServer()
  if (found === null && (process.env.CI === undefined || process.env.TEST_WITHOUT_NATS !== undefined)) {
    test(what, { skip: NO_SERVER }, () => {})
    return
  }
  test('a NATS server is there', (t) => {
    t.notEqual(found, null, found === null ? HOW : `nats-server ${found.version}`)
    t.end()
  })
  if (found !== null) define(found.file)
}

let streams = 0
/** @returns {string} a name that no other test of this process has */
const streamName = () => `S${process.pid}-${++streams}`

/**
 * Tests with one server, which is killed after them.
 * @param {string} what is tested
 * @param {(shared: { server: Server }) => void} define `server` is there once the tests run
 */
function withServer (what, define) {
  withNats(what, (file) => {
    const shared = { server: /** @type {any} */ (null) }
    test('the server starts', async () => { shared.server = await startServer(file) })
    define(shared)
    test.onFinish(() => shared.server?.stop())
  })
}

module.exports = { findServer, freePort, withNats, withServer, startServer, startCluster, streamName, Server, NO_SERVER }
