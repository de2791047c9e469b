'use strict'

// The local socket on which the owner of a shared log listens: who can connect, and which files there are.

const test = require('tape')
const fs = require('fs')
const net = require('net')
const path = require('path')
const { execFileSync } = require('child_process')
const { once } = require('events')
const { Address } = require('../../lib/sharing/address')
const { testFolder } = require('../helpers/folder')
const { start } = require('../helpers/processes')
const { codeOf } = require('../helpers/reading')
const { runtime } = require('../helpers/runtime')

const ADDRESS_MODULE = require.resolve('../../lib/sharing/address')
const IS_WINDOWS = process.platform === 'win32'
const IS_ROOT = process.getuid?.() === 0
/** A user without any rights. */
const NOBODY = 65534
const GREETING = 'connected'

/** A test of what is different on Windows. */
const testOfFiles = (name, run) => test(name, { skip: IS_WINDOWS }, run)
/** Deno cannot become another user, and does not know sockets in the list of a directory. */
const testButNotOnDeno = (name, run) => test(name, { skip: IS_WINDOWS || runtime === 'deno' }, run)

/** Creates a log, and returns its address, with the log's name. */
function addressOf (filename, mode = 0o644) {
  fs.mkdirSync(path.dirname(filename), { recursive: true })
  fs.writeFileSync(filename, '')
  fs.chmodSync(filename, mode)
  return Object.assign(new Address(filename), { filename })
}

/** Listens, and greets everybody who connects. The listener is closed when the test ends. */
async function listenOn (t, address, onconnection = socket => socket.end(GREETING)) {
  const listener = await address.listen(fs.statSync(address.filename), onconnection)
  t.teardown(() => listener.close())
  return listener
}

/** Connects: what the owner says, or 'nobody', or the code of the error. */
async function connectTo (address) {
  const socket = await address.connect().catch(err => err.code)
  if (socket === null) return 'nobody'
  if (typeof socket === 'string') return socket
  return await textFrom(socket)
}

async function textFrom (socket) {
  let text = ''
  for await (const data of socket) text += data
  return text
}

/** Leaves a socket on which nobody listens. */
async function leaveSocket (name) {
  const server = net.createServer().listen(`${name}.b`)
  await once(server, 'listening')
  fs.renameSync(`${name}.b`, name)
  server.close()
  await once(server, 'close')
}

/** Sets the umask until the test ends; it may set another one. */
function withUmask (t, mask) {
  const before = process.umask(mask)
  t.teardown(() => process.umask(before))
}

/** Sets an environment variable until the test ends; it may set another value. */
function withEnvironment (t, name, value) {
  const before = process.env[name]
  const set = (value) => {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
  set(value)
  t.teardown(() => set(before))
}

const modeOf = (name) => (fs.lstatSync(name).mode & 0o777).toString(8)
const filesIn = (folder) => fs.readdirSync(folder).sort()

/** The path of a log that is too long for a socket. */
const longName = (file) => file(path.join('d'.repeat(60), 'e'.repeat(60), 'log'))

test('a process connects to the one that listens, and gets null if none does', async (t) => {
  const file = testFolder(t)
  const address = addressOf(file('log'))
  t.equal(await connectTo(address), 'nobody', 'nobody has ever listened')
  const listener = await listenOn(t, address)
  t.equal(await connectTo(address), GREETING)
  if (!IS_WINDOWS) t.deepEqual(filesIn(file('.')), ['log', 'log.socket'])
  await listener.close()
  t.equal(await connectTo(address), 'nobody', 'it is closed')
  t.deepEqual(filesIn(file('.')), ['log'], 'and leaves nothing behind')
})

test('open connections stay when the listener closes, and it does not wait for them', async (t) => {
  const address = addressOf(testFolder(t)('log'))
  const listener = await listenOn(t, address, socket => socket.pipe(socket))
  const socket = await address.connect()
  socket.write('one')
  t.equal(String((await once(socket, 'data'))[0]), 'one')
  await listener.close()
  socket.end('two')
  t.equal(await textFrom(socket), 'two')
})

test('closing one listener leaves those of other logs in the folder alone', async (t) => {
  const file = testFolder(t)
  const addresses = [file('log'), file('log.socket-abcdef'), file('log2')].map(name => addressOf(name))
  const listeners = []
  for (const address of addresses) listeners.push(await listenOn(t, address, socket => socket.end(address.filename)))
  await listeners[0].close()
  t.equal(await connectTo(addresses[0]), 'nobody')
  for (const address of addresses.slice(1)) t.equal(await connectTo(address), address.filename)
})

test('a listener keeps its process alive only while it is held', async (t) => {
  const address = addressOf(testFolder(t)('log'))
  // a process that is not kept alive ends before the timer
  const code = (isHeld) => `new (require(${JSON.stringify(ADDRESS_MODULE)}).Address)(${JSON.stringify(address.filename)})
    .listen(require('fs').statSync(${JSON.stringify(address.filename)}), () => {}).then((listener) => {
      listener.hold(${isHeld})
      console.log('listening')
      setTimeout(() => {
        console.log('alive')
        listener.hold(false)
      }, 50).unref()
    })`
  t.equal(String(execFileSync(process.execPath, ['-e', code(true)])), 'listening\nalive\n')
  t.equal(String(execFileSync(process.execPath, ['-e', code(false)])), 'listening\n')
  t.equal(await connectTo(address), 'nobody', 'a socket that is left has nobody behind it')
  await listenOn(t, address)
  t.equal(await connectTo(address), GREETING, 'and is replaced')
})

test('a cluster worker listens itself', async (t) => {
  const file = testFolder(t)
  const address = addressOf(file('log'))
  const program = start(t, 'cluster-listener.js', { filename: address.filename })
  const { pid } = await program.message(({ what }) => what === 'listening')
  t.notEqual(pid, program.child.pid)
  t.equal(await connectTo(address), String(pid))
  t.deepEqual(program.messages.filter(({ what }) => what === 'shared'), [], 'the primary has no part in it')
  program.send('close')
  await program.over
  t.deepEqual(filesIn(file('.')), ['log'])
})

testOfFiles('a socket has the mode of its log, whatever the umask', async (t) => {
  const file = testFolder(t)
  withUmask(t, 0)
  for (const umask of [0, 0o022, 0o077]) {
    process.umask(umask)
    for (const mode of [0o600, 0o640, 0o660, 0o644, 0o666, 0o755]) {
      const address = addressOf(file(`log-${umask}-${mode}`), mode)
      await listenOn(t, address)
      t.equal(modeOf(address.name), (mode & 0o666).toString(8), `umask ${umask.toString(8)}`)
    }
  }
})

testOfFiles('a socket gets the permissions of its log where nobody else can reach it', async (t) => {
  const file = testFolder(t)
  withUmask(t, 0)
  const address = addressOf(file('log'), 0o600)
  const { chmodSync } = fs
  const { rename } = fs.promises
  const seen = []
  fs.chmodSync = (name, mode) => {
    seen.push(['chmod', modeOf(path.dirname(name)), mode.toString(8)])
    chmodSync(name, mode)
  }
  fs.promises.rename = async (from, to) => {
    seen.push(['rename', modeOf(path.dirname(from)), modeOf(from)])
    await rename(from, to)
  }
  t.teardown(() => {
    fs.chmodSync = chmodSync
    fs.promises.rename = rename
  })
  await listenOn(t, address)
  t.deepEqual(seen, [['chmod', '700', '600'], ['rename', '700', '600']])
})

testButNotOnDeno('only users who may write the log can connect', async (t) => {
  const file = testFolder(t)
  fs.chmodSync(file('.'), 0o755)
  // root may do everything, so another user tries; everybody else can take the right from themselves
  const [allowed, denied] = IS_ROOT ? [0o666, 0o644] : [0o644, 0o444]
  for (const [mode, expected] of [[allowed, GREETING], [denied, 'EACCES']]) {
    const address = addressOf(file(`log-${mode}`), mode)
    await listenOn(t, address)
    t.equal(await asOther(() => connectTo(address)), expected, mode.toString(8))
    if (expected !== 'EACCES') continue
    const err = await asOther(() => address.connect()).catch(err => err)
    t.equal(err.path, address.name, 'the error names the socket')
  }
})

testButNotOnDeno('a socket that root places belongs to the owner of the log', async (t) => {
  if (!IS_ROOT) return t.comment('only root can give files away')
  const file = testFolder(t)
  fs.chmodSync(file('.'), 0o755)
  const address = addressOf(file('log'), 0o600)
  fs.chownSync(file('log'), NOBODY, NOBODY)
  await listenOn(t, address)
  const { uid, gid } = fs.lstatSync(address.name)
  t.deepEqual([uid, gid], [NOBODY, NOBODY])
  t.equal(await asOther(() => connectTo(address)), GREETING)
})

/** Runs it without the rights of root. */
async function asOther (run) {
  if (!IS_ROOT) return await run()
  const groups = process.getgroups()
  const group = process.getegid()
  process.setgroups([NOBODY])
  process.setegid(NOBODY)
  process.seteuid(NOBODY)
  try {
    return await run()
  } finally {
    process.seteuid(0)
    process.setegid(group)
    process.setgroups(groups)
  }
}

testOfFiles('the name is left to the owner of another log that has taken the path', async (t) => {
  const file = testFolder(t)
  const first = await listenOn(t, addressOf(file('log')), socket => socket.end('first'))
  fs.renameSync(file('log'), file('old'))
  const address = addressOf(file('log'))
  const second = await listenOn(t, address, socket => socket.end('second'))
  t.equal(await connectTo(address), 'second')
  await first.close()
  t.equal(await connectTo(address), 'second', 'closing removes only what is its own')
  await second.close()
  t.deepEqual(filesIn(file('.')), ['log', 'old'])
})

testOfFiles('what a killed process has left is replaced', async (t) => {
  const file = testFolder(t)
  const address = addressOf(file('log'))
  await leaveSocket(address.name)
  fs.mkdirSync(file('log.socket.new'))
  await leaveSocket(file('log.socket.new/flumelog.socket'))
  t.equal(await connectTo(address), 'nobody')
  const listener = await listenOn(t, address)
  t.equal(await connectTo(address), GREETING)
  t.deepEqual(filesIn(file('.')), ['log', 'log.socket'])
  await listener.close()
  t.deepEqual(filesIn(file('.')), ['log'])
})

testOfFiles('files of others that have the names of a socket stay', async (t) => {
  const file = testFolder(t)
  const address = addressOf(file('log'))
  fs.writeFileSync(address.name, 'a file')
  t.equal(await codeOf(listenOn(t, address)), 'EEXIST')
  t.equal(fs.readFileSync(address.name, 'utf8'), 'a file')
  fs.unlinkSync(address.name)
  fs.mkdirSync(file('log.socket.new'))
  fs.writeFileSync(file('log.socket.new/notes'), 'a file')
  t.equal(await codeOf(listenOn(t, address)), 'ENOTEMPTY')
  t.deepEqual(filesIn(file('.')), ['log', 'log.socket.new'])
  fs.rmSync(file('log.socket.new'), { recursive: true })
})

testOfFiles('a path of every length can be shared', async (t) => {
  const file = testFolder(t)
  fs.mkdirSync(file('tmp'))
  withEnvironment(t, 'TMPDIR', file('tmp'))
  const shortest = Buffer.byteLength(file('x'))
  const lengths = Array.from({ length: 50 }, (_, i) => Math.max(70, shortest) + i)
  const names = [...lengths.map(length => file('x'.repeat(length - shortest + 1))), file('x'.repeat(240)), longName(file)]
  for (const name of names) {
    const address = addressOf(name, 0o640)
    const listener = await listenOn(t, address)
    t.equal(await connectTo(address), GREETING, `${Buffer.byteLength(name)} bytes`)
    t.equal(modeOf(address.name), '640')
    await listener.close()
    t.equal(await connectTo(address), 'nobody')
  }
  t.deepEqual([...filesIn(file('.')), ...filesIn(path.dirname(longName(file)))].filter(name => name.includes('socket')), [])
  t.deepEqual(filesIn(file('tmp')), [], 'nothing is left in the directory for temporary files')
})

testOfFiles('if the directory for temporary files has a long path, too, an error says so', async (t) => {
  const file = testFolder(t)
  const address = addressOf(longName(file))
  withEnvironment(t, 'TMPDIR', path.dirname(address.filename))
  for (const attempt of [() => listenOn(t, address), () => address.connect()]) {
    const err = await attempt().catch(err => err)
    t.equal(err.code, 'ENAMETOOLONG')
    t.ok(err.message.includes(address.filename) && /set TMPDIR to a shorter path/.test(err.message))
    t.deepEqual(filesIn(path.dirname(address.filename)), ['log'])
  }
})
