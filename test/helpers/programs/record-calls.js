'use strict'

// Preloaded, it records what a program asks of the module `fs` that changes files: the
// start and the end of each call, in order, into the file that CALLS_FILE names.

const fs = require('fs')

const { writeFileSync } = fs
const events = []
let calls = 0

/** Which calls are recorded, and what of their arguments. */
const RECORDED = {
  open: ([path, flags]) => ({ path, flags: flags ?? 'r' }),
  close: ([fd]) => ({ fd }),
  write: ([fd, data, ...rest]) => ({ fd, ...placeOf(data, rest) }),
  writev: ([fd, buffers, offset]) => ({ fd, data: text(Buffer.concat(buffers)), offset }),
  ftruncate: ([fd, size]) => ({ fd, size: size ?? 0 }),
  fsync: ([fd]) => ({ fd }),
  fdatasync: ([fd]) => ({ fd }),
  rename: ([from, path]) => ({ from, path }),
  link: ([from, path]) => ({ from, path }),
  unlink: ([path]) => ({ path }),
  mkdir: ([path]) => ({ path })
}

for (const [name, whatOf] of Object.entries(RECORDED)) {
  const { [name]: call, [name + 'Sync']: callSync } = fs
  fs[name] = (...args) => {
    const cb = args.pop()
    const end = start(name, whatOf(args))
    call(...args, (err, ...results) => {
      end(err, results[0])
      cb(err, ...results)
    })
  }
  fs[name + 'Sync'] = (...args) => finish(start(name, whatOf(args)), () => callSync(...args))
}
for (const name of ['rename', 'link', 'unlink', 'mkdir']) {
  const call = fs.promises[name]
  fs.promises[name] = (...args) => settle(start(name, RECORDED[name](args)), call(...args))
}

/** What it writes cannot be seen: the calls for it are recorded as if they were made at once. */
const { copyFile } = fs.promises
fs.promises.copyFile = async (from, path, ...rest) => {
  await copyFile(from, path, ...rest)
  const fd = 2 ** 20
  start('open', { path, flags: 'w' })(null, fd)
  start('write', { fd, data: text(fs.readFileSync(path)), offset: 0 })(null, 0)
  start('close', { fd })(null)
}

const { open } = fs.promises
fs.promises.open = async (path, flags, ...rest) => {
  const end = start('open', RECORDED.open([path, flags]))
  const handle = await open(path, flags, ...rest)
  end(null, handle.fd)
  watchHandle(handle)
  return handle
}

/** A FileHandle calls the system by itself. */
function watchHandle (handle) {
  const { fd } = handle
  const watch = (method, name, whatOf) => {
    const call = handle[method].bind(handle)
    handle[method] = (...args) => settle(start(name, { fd, ...whatOf(args) }), call(...args))
  }
  watch('writeFile', 'write', ([data]) => ({ data: text(Buffer.from(data)), offset: null }))
  watch('write', 'write', ([data, ...rest]) => placeOf(data, rest))
  watch('truncate', 'ftruncate', ([size]) => ({ size: size ?? 0 }))
  watch('sync', 'fsync', () => ({}))
  watch('datasync', 'fdatasync', () => ({}))
  watch('close', 'close', () => ({}))
}

function placeOf (data, [from = 0, length, offset]) {
  if (typeof data === 'string') return { data: text(Buffer.from(data)), offset: typeof from === 'number' ? from : null }
  return { data: text(Buffer.from(data.buffer, data.byteOffset + from, length ?? data.byteLength - from)), offset: offset ?? null }
}

function start (name, details) {
  const id = ++calls
  events.push({ id, start: name, ...details })
  return (err, result) => { events.push({ id, end: name, result: err ? -1 : typeof result === 'number' ? result : 0 }) }
}

function finish (end, call) {
  try {
    const result = call()
    end(null, result)
    return result
  } catch (err) {
    end(err)
    throw err
  }
}

async function settle (end, promise) {
  try {
    const result = await promise
    end(null, typeof result === 'number' ? result : 0)
    return result
  } catch (err) {
    end(err)
    throw err
  }
}

function text (data) {
  return data.toString('base64')
}

process.on('exit', () => writeFileSync(process.env.CALLS_FILE, JSON.stringify(events)))
