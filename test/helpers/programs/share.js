'use strict'

// Opens a shared log and does what messages say: `{ id, call, ... }`. It answers each with
// `{ id, ... }`, and tells whenever its role has changed. It can be run in a worker thread or a
// cluster worker, too.

const fs = require('fs')
const cluster = require('cluster')
const net = require('net')
const { isMainThread, parentPort, workerData } = require('worker_threads')
const pull = require('pull-stream')
const processes = require('../processes')
const { makeHoles } = require('../holes')
const { numbered, numberOf } = require('../numbered')

const { file, options = {}, dieBeforeWriting } = isMainThread ? processes.argument() : workerData
const tell = isMainThread ? processes.tell : message => parentPort.postMessage(message)

if (dieBeforeWriting !== undefined) dieBefore(dieBeforeWriting)
const log = require('../../..')(file, { ...options, shared: true })
const seen = []
let role = null

if (isMainThread) processes.listen(receive)
else parentPort.on('message', receive)
log.onReady((err) => tell({ what: 'opened', role: log.role, code: err?.code, message: err?.message, pid: process.pid, isWorker: cluster.isWorker }))
const watching = setInterval(() => {
  if (log.role !== role) tell({ what: 'role', role: role = log.role })
}, 2)

const CALLS = {
  /** Single records with the numbers from `from` on. The answer: what became of each. */
  append ({ from, count = 1, size = 20, appendOptions = {} }, answer) {
    const results = []
    for (let number = from; number < from + count; number++) {
      log.append(numbered(number, size), appendOptions, (err, seq) => {
        results.push({ number, seq, code: err?.code })
        if (results.length === count) answer({ results })
      })
    }
  },
  del: ({ seq }, answer) => log.del(seq, err => answer({ code: err?.code })),
  makeHoles: (_, answer) => makeHoles(log).then(() => answer({})),
  sync: (_, answer) => log.sync(err => answer({ code: err?.code })),
  stats: (_, answer) => answer({ stats: log.stats(), role: log.role }),
  /** Follows the log from now on; `seen` tells what it has seen. */
  follow (_, answer) {
    pull(log.stream({ live: true }), pull.drain(({ value }) => { seen.push(numberOf(value)) }, err => tell({ what: 'ended', code: err?.code })))
    answer({})
  },
  seen: (_, answer) => answer({ seen }),
  /** From now on, nothing that is sent to others arrives. */
  mute (_, answer) {
    net.Socket.prototype.write = () => true
    answer({})
  },
  /** The last thing that the program does: if nothing else keeps it alive, it exits. */
  close (_, answer) {
    clearInterval(watching)
    if (!isMainThread) parentPort.unref()
    else if (process.stdin.unref === undefined) process.stdin.pause() // Deno
    else process.stdin.unref()
    log.close(err => answer({ code: err?.code }))
  }
}

function receive ({ id, call, ...rest }) {
  CALLS[call](rest, answer => tell({ id, ...answer }))
}

/** Kills this process when it is about to write a record with this number into the log. */
function dieBefore (number) {
  for (const name of ['write', 'writeSync', 'writev', 'writevSync']) {
    const call = fs[name]
    fs[name] = (fd, data, ...rest) => {
      const buffers = Array.isArray(data) ? data : [data]
      const record = numbered(number, 20)
      if (buffers.some(bytes => Buffer.isBuffer(bytes) && bytes.includes(record))) process.kill(process.pid, 'SIGKILL')
      return call(fd, data, ...rest)
    }
  }
}
