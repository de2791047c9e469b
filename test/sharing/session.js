'use strict'

// One connection to the owner, without a socket: what is sent when, and what is kept.

const tape = require('tape')
const { EventEmitter } = require('events')
const { Server } = require('../../lib/sharing/server')
const { Session } = require('../../lib/sharing/session')
const frames = require('../../lib/sharing/frames')
const { systemClock } = require('../../lib/clock')
const { event } = require('../helpers/reading')
const { uncaughtDuring } = require('../helpers/uncaught')

function openServer () {
  const server = new Server(/** @type {any} */ ({ clients: new Map() }), /** @type {any} */ ({ ...systemClock, setImmediate }))
  const log = { writer: { acknowledged: 100, appender: { lastSeq: 76 }, wait: (sync, cb) => cb() } }
  server.log = /** @type {any} */ (log)
  return { server, log }
}

/** A session, and what becomes of its socket. */
function sessionOf (server) {
  const calls = []
  const socket = Object.assign(new EventEmitter(), {
    writableLength: 0,
    writableEnded: false,
    write: () => { calls.push('write') },
    end: () => {
      calls.push('end')
      socket.writableEnded = true
    },
    destroy: () => { calls.push('destroy') },
    ref () {},
    resume () {},
    cork () {},
    uncork () {}
  })
  const session = new Session(server, /** @type {any} */ (socket))
  server.sessions.add(session)
  return { session, socket, calls }
}

tape('nothing is sent to a client once the owner has ended its connection', async (t) => {
  const { server } = openServer()
  const { session, socket, calls } = sessionOf(server)
  session.isWelcome = true
  session.answer(frames.PONG)
  await event(setImmediate)
  const closed = server.close()
  while (!socket.writableEnded) await event(setImmediate)
  server.changed()
  t.notOk(server.lookTimer.isRunning)
  server.look()
  session.answer(frames.PONG)
  await event(setImmediate)
  session.onbye()
  t.deepEqual(calls, ['write', 'end'])
  socket.emit('close')
  await closed
})

tape('an exception that is not the fault of the client is thrown to the process, and ends the connection', async (t) => {
  const { server } = openServer()
  const { session, socket, calls } = sessionOf(server)
  const bug = new TypeError('a bug')
  session.reader.push = () => { throw bug }
  const thrown = await uncaughtDuring(async () => {
    socket.emit('data', Buffer.alloc(1))
    await event(setImmediate)
  })
  t.deepEqual(thrown, [bug])
  t.deepEqual(calls, ['destroy'])
  t.equal(server.refusals, 0)
  t.equal(server.sessions.size, 0)
})
