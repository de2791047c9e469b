'use strict'

// The local socket on which the owner of a shared log listens: who can connect, and which
// files there are at any moment.

const test = require('tape')
const fs = require('fs')
const net = require('net')
const path = require('path')
const { execFileSync } = require('child_process')
const { once } = require('events')
const { Worker } = require('worker_threads')
const { Address } = require('../../lib/sharing/address')
const { testFolder } = require('../helpers/folder')
const { start } = require('../helpers/processes')
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

/** Creates a log, and returns its address. */
function addressOf (filename, mode = 0o644) {
  fs.mkdirSync(path.dirname(filename), { recursive: true })
  fs.writeFileSync(filename, '')
  fs.chmodSync(filename, mode)
  return new Address(filename, path.dirname(filename))
}

/** Listens, and greets everybody who connects. The listener is closed when the test ends. */
async function listenOn (t, address, onconnection = socket => socket.end(GREETING)) {
  const listener = await address.listen(() => fs.promises.stat(address.filename), onconnection)
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
  t.equal(await listener.check(), false, 'the name leads to the socket')
  if (!IS_WINDOWS) t.deepEqual(filesIn(file('.')), ['log', 'log.socket'])
  await listener.close()
  t.equal(await connectTo(address), 'nobody', 'it is closed')
  t.deepEqual(filesIn(file('.')), ['log'], 'and leaves nothing behind')
  await listener.close()
  t.equal(await listener.check(), false, 'a closed one is not put in place again')
  t.deepEqual(filesIn(file('.')), ['log'])
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

test('one process after the other can listen on the same address', async (t) => {
  const file = testFolder(t)
  const address = addressOf(file('log'))
  for (const name of ['a', 'b']) {
    const listener = await listenOn(t, address, socket => socket.end(name))
    t.equal(await connectTo(address), name)
    await listener.close()
  }
  t.deepEqual(filesIn(file('.')), ['log'])
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

test('a listener does not keep its process alive', async (t) => {
  const address = addressOf(testFolder(t)('log'))
  const code = `new (require(${JSON.stringify(ADDRESS_MODULE)}).Address)(...${JSON.stringify([address.filename, address.folder])})
    .listen(async () => require('fs').statSync(${JSON.stringify(address.filename)}), () => {}).then(() => console.log('listening'))`
  t.equal(String(execFileSync(process.execPath, ['-e', code])), 'listening\n')
  t.equal(await connectTo(address), 'nobody', 'a socket that is left has nobody behind it')
  await listenOn(t, address)
  t.equal(await connectTo(address), GREETING, 'and is replaced')
})

testOfFiles('a listener that is held keeps its process alive, also after its socket was put in place again', (t) => {
  const address = addressOf(testFolder(t)('log'))
  // a process that is not kept alive ends before the timer
  const code = `const fs = require('fs')
    const address = new (require(${JSON.stringify(ADDRESS_MODULE)}).Address)(...${JSON.stringify([address.filename, address.folder])})
    address.listen(async () => fs.statSync(address.filename), () => {}).then(async (listener) => {
      listener.hold(true)
      fs.unlinkSync(address.name)
      console.log(await listener.check())
      setTimeout(() => {
        console.log('alive')
        listener.hold(false)
      }, 50).unref()
    })`
  t.equal(String(execFileSync(process.execPath, ['-e', code])), 'true\nalive\n')
  t.end()
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

testOfFiles('a socket that a worker thread places has the mode of its log', async (t) => {
  const file = testFolder(t)
  const code = `const { workerData: { address, filename, folder }, parentPort } = require('worker_threads')
    new (require(address).Address)(filename, folder).listen(() => require('fs').promises.stat(filename), () => {})
      .then(() => parentPort.postMessage('listening'))
    parentPort.on('message', () => {})`
  withUmask(t, 0)
  for (const umask of [0, 0o077]) {
    process.umask(umask)
    for (const mode of [0o600, 0o640, 0o660, 0o644]) {
      const { filename, folder, name } = addressOf(file(`log-${umask}-${mode}`), mode)
      const worker = new Worker(code, { eval: true, workerData: { address: ADDRESS_MODULE, filename, folder } })
      await once(worker, 'message')
      t.equal(modeOf(name), mode.toString(8), `umask ${umask.toString(8)}`)
      await worker.terminate()
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

testOfFiles('if the socket cannot have the group of the log, its group and others get what both may do', async (t) => {
  const file = testFolder(t)
  const { lchownSync } = fs
  fs.lchownSync = () => { throw new Error('not permitted') }
  t.teardown(() => { fs.lchownSync = lchownSync })
  const modes = { 660: '600', 664: '644', 666: '666', 606: '600' }
  for (const [mode, expected] of Object.entries(modes)) {
    const address = addressOf(file(mode), parseInt(mode, 8))
    const logStatus = async () => Object.assign(await fs.promises.stat(address.filename), { gid: process.getgid() + 1 })
    const listener = await address.listen(logStatus, () => {})
    t.equal(modeOf(address.name), expected, mode)
    await listener.close()
  }
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

testOfFiles('a name that was deleted or replaced is put in place again', async (t) => {
  const file = testFolder(t)
  const address = addressOf(file('log'))
  const listener = await listenOn(t, address, socket => socket.pipe(socket))
  const before = await address.connect()
  const changes = {
    deleted: () => fs.unlinkSync(address.name),
    'another socket': async () => {
      await leaveSocket(file('other'))
      fs.renameSync(file('other'), address.name)
    },
    'a symbolic link': () => {
      fs.unlinkSync(address.name)
      fs.symlinkSync(file('nowhere'), address.name)
    }
  }
  for (const [what, change] of Object.entries(changes)) {
    await change()
    t.equal(await connectTo(address), 'nobody', what)
    t.deepEqual(await Promise.all([listener.check(), listener.check()]), [true, false], 'it is placed once')
    const socket = await address.connect()
    socket.end('hello')
    t.equal(await textFrom(socket), 'hello', 'others can connect again')
  }
  fs.renameSync(address.name, file('moved.socket'))
  t.equal(await listener.check(), true, 'renamed')
  t.equal(await connectTo(new Address(file('moved'), file('.'))), 'nobody', 'the old socket is closed')
  fs.unlinkSync(file('moved.socket'))
  before.end('still there')
  t.equal(await textFrom(before), 'still there', 'connections stay open')
  await listener.close()
  t.deepEqual(filesIn(file('.')), ['log'])
})

testOfFiles('a socket follows the mode of its log', async (t) => {
  const file = testFolder(t)
  const address = addressOf(file('log'), 0o666)
  const listener = await listenOn(t, address)
  fs.chmodSync(file('log'), 0o600)
  t.equal(await listener.check(), true)
  t.equal(modeOf(address.name), '600')
  t.equal(await connectTo(address), GREETING)
})

testOfFiles('the name is left to the owner of another log that has taken the path', async (t) => {
  const file = testFolder(t)
  const address = addressOf(file('log'))
  const opened = fs.statSync(file('log'))
  const first = await address.listen(async () => opened, socket => socket.end('first'))
  t.teardown(() => first.close())
  fs.renameSync(file('log'), file('old'))
  fs.unlinkSync(address.name)
  t.equal(await first.check().catch(err => err.code), 'flumelog:replaced', 'nothing has the path')
  addressOf(file('log'))
  const second = await listenOn(t, address, socket => socket.end('second'))
  t.equal(await first.check().catch(err => err.code), 'flumelog:replaced', 'another file has it')
  t.equal(await connectTo(address), 'second')
  await first.close()
  t.equal(await connectTo(address), 'second', 'closing removes only what is its own')
  await second.close()
})

testOfFiles('a file that is no socket is not replaced', async (t) => {
  const file = testFolder(t)
  const address = addressOf(file('log'))
  const attempts = { 'a regular file': () => fs.writeFileSync(address.name, 'x'), 'a directory': () => fs.mkdirSync(address.name) }
  for (const [what, create] of Object.entries(attempts)) {
    create()
    const err = await listenOn(t, address).catch(err => err)
    t.equal(err.code, 'EEXIST', what)
    t.equal(err.path, address.name)
    t.match(err.message, /in the way of the log's socket/)
    t.deepEqual(filesIn(file('.')), ['log', 'log.socket'])
    fs.rmSync(address.name, { recursive: true })
  }
  const listener = await listenOn(t, address)
  fs.unlinkSync(address.name)
  fs.writeFileSync(address.name, 'x')
  t.equal(await listener.check().catch(err => err.code), 'EEXIST', 'nor is it later')
  await listener.close()
  t.deepEqual(filesIn(file('.')), ['log', 'log.socket'], 'nor deleted')
})

testOfFiles('a socket that nobody listens on is replaced, and so is a symbolic link', async (t) => {
  const file = testFolder(t)
  const address = addressOf(file('log'))
  await leaveSocket(address.name)
  t.equal(await connectTo(address), 'nobody', 'a socket that a killed process has left')
  const first = await listenOn(t, address)
  t.equal(await connectTo(address), GREETING)
  await first.close()

  fs.writeFileSync(file('other'), 'x')
  fs.symlinkSync(file('other'), address.name)
  const second = await listenOn(t, address)
  t.equal(await connectTo(address), GREETING)
  await second.close()
  t.deepEqual(filesIn(file('.')), ['log', 'other'], 'where the link led is left alone')
  t.equal(fs.readFileSync(file('other'), 'utf8'), 'x')
})

testButNotOnDeno('what a process leaves that is killed while it places its socket is removed, and nothing else', async (t) => {
  const file = testFolder(t)
  const address = addressOf(file('log'))
  const ours = ['log.socket-aB3dE6', 'log.socket-Aaaaaa', 'log.socket-Bbbbbb']
  const others = ['log.socket-more12', 'log.socket-other1', 'log.socket-toolong', 'log2.socket-aB3dE6']
  for (const name of [...ours, ...others]) fs.mkdirSync(file(name))
  await leaveSocket(file('log.socket-aB3dE6/s'))
  fs.symlinkSync('/nowhere', file('log.socket-Aaaaaa/s'))
  await leaveSocket(file('log.socket-more12/s'))
  fs.writeFileSync(file('log.socket-more12/data'), 'x')
  fs.writeFileSync(file('log.socket-other1/s'), 'x')
  fs.writeFileSync(file('log.socket-file12'), 'x')
  await listenOn(t, address)
  t.deepEqual(filesIn(file('.')), ['log', 'log.socket', 'log.socket-file12', ...others])
  t.deepEqual(filesIn(file('log.socket-more12')), ['data', 's'])
})

testOfFiles('if the path is too long for a socket, a symbolic link leads to one in the runtime directory', async (t) => {
  const file = testFolder(t)
  const address = addressOf(longName(file), 0o640)
  withEnvironment(t, 'XDG_RUNTIME_DIR', file('.'))
  const listener = await listenOn(t, address)
  const target = fs.readlinkSync(address.name)
  t.equal(path.dirname(target), file(`flumelog-${process.geteuid()}`))
  t.equal(modeOf(path.dirname(target)), '700')
  t.equal(modeOf(target), '640')

  process.env.XDG_RUNTIME_DIR = '/nowhere'
  t.equal(await connectTo(address), GREETING, 'the environment of those who connect does not matter')
  process.env.XDG_RUNTIME_DIR = file('.')
  const changes = [() => fs.unlinkSync(address.name), () => fs.unlinkSync(target), () => fs.rmSync(path.dirname(target), { recursive: true })]
  for (const change of changes) {
    t.equal(await listener.check(), false)
    change()
    t.equal(await connectTo(address), 'nobody')
    t.equal(await listener.check(), true)
    t.equal(await connectTo(address), GREETING)
  }
  await listener.close()
  t.deepEqual(filesIn(address.folder), ['log'])
  t.deepEqual(filesIn(path.dirname(target)), [])
})

testOfFiles('the socket moves if another runtime directory has to be used', async (t) => {
  const file = testFolder(t)
  const address = addressOf(longName(file))
  for (const name of ['a', 'b']) fs.mkdirSync(file(name))
  withEnvironment(t, 'XDG_RUNTIME_DIR', file('a'))
  withEnvironment(t, 'TMPDIR', file('b'))
  const listener = await listenOn(t, address)
  t.ok(fs.readlinkSync(address.name).startsWith(file('a/')))
  // as at logout
  fs.rmSync(file('a'), { recursive: true })
  t.equal(await listener.check(), true)
  t.ok(fs.readlinkSync(address.name).startsWith(file('b/')))
  t.equal(await connectTo(address), GREETING)
  await listener.close()
  t.deepEqual(filesIn(address.folder), ['log'])
})

testOfFiles('a path of every length can be shared', async (t) => {
  const file = testFolder(t)
  withEnvironment(t, 'XDG_RUNTIME_DIR', file('.'))
  const shortest = Buffer.byteLength(file('x'))
  for (let length = Math.max(75, shortest); length < 120; length++) {
    const address = addressOf(file('x'.repeat(length - shortest + 1)))
    const listener = await listenOn(t, address)
    const isLink = fs.lstatSync(address.name).isSymbolicLink()
    const text = await connectTo(address)
    if (text !== GREETING || isLink !== (length > 84)) t.fail(`${length} bytes: ${text}`)
    await listener.close()
  }
  t.deepEqual(filesIn(file('.')).filter(name => name.includes('socket')), [])
})

testOfFiles('a runtime directory that is not private is refused', async (t) => {
  const file = testFolder(t)
  const address = addressOf(longName(file))
  withEnvironment(t, 'XDG_RUNTIME_DIR', file('.'))
  const folder = file(`flumelog-${process.geteuid()}`)
  fs.mkdirSync(file('elsewhere'), { mode: 0o700 })
  const cases = {
    'it is a symbolic link': () => fs.symlinkSync(file('elsewhere'), folder),
    'it is not a directory': () => fs.writeFileSync(folder, ''),
    'its mode is 755, not 700': () => {
      fs.mkdirSync(folder)
      fs.chmodSync(folder, 0o755)
    }
  }
  if (IS_ROOT) {
    cases[`it belongs to user ${NOBODY}, not to 0`] = () => {
      fs.mkdirSync(folder, { mode: 0o700 })
      fs.chownSync(folder, NOBODY, NOBODY)
    }
  }
  for (const [reason, create] of Object.entries(cases)) {
    create()
    const err = await listenOn(t, address).catch(err => err)
    t.equal(err.code, 'EPERM')
    t.equal(err.path, folder)
    t.ok(err.message.includes(reason), reason)
    fs.rmSync(folder, { recursive: true })
  }
  t.deepEqual(filesIn(address.folder), ['log'])
})

testOfFiles('a runtime directory of another user, or none, is not used', async (t) => {
  const file = testFolder(t)
  const address = addressOf(longName(file))
  fs.mkdirSync(file('tmp'))
  withEnvironment(t, 'TMPDIR', file('tmp'))
  withEnvironment(t, 'XDG_RUNTIME_DIR', '')
  const unusable = ['', 'relative', file('nowhere'), address.filename]
  if (IS_ROOT) {
    fs.mkdirSync(file('other'))
    fs.chownSync(file('other'), NOBODY, NOBODY)
    unusable.push(file('other'))
  }
  for (const value of unusable) {
    process.env.XDG_RUNTIME_DIR = value
    const listener = await listenOn(t, address)
    t.ok(fs.readlinkSync(address.name).startsWith(file('tmp/')), `"${value}"`)
    await listener.close()
  }
})

testOfFiles('if the runtime directory has a long path, too, an error says so', async (t) => {
  const file = testFolder(t)
  const address = addressOf(longName(file))
  withEnvironment(t, 'XDG_RUNTIME_DIR', address.folder)
  withEnvironment(t, 'TMPDIR', path.dirname(address.folder))
  const err = await listenOn(t, address).catch(err => err)
  t.equal(err.code, 'ENAMETOOLONG')
  t.ok(err.message.includes(address.filename) && /set XDG_RUNTIME_DIR or TMPDIR/.test(err.message))
  t.deepEqual(filesIn(address.folder), ['log'])
  process.env.TMPDIR = file('.')
  await listenOn(t, address)
  t.equal(await connectTo(address), GREETING, 'the directory for temporary files is used if only its path is short enough')

  fs.unlinkSync(address.name)
  fs.symlinkSync(file('x'.repeat(120)), address.name)
  t.equal(await connectTo(address), 'ENAMETOOLONG', 'a link to a path that no socket can have')
})
