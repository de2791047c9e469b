'use strict'

// What the owner sends to a client that takes nothing for a while.

const tape = require('tape')
const { EventEmitter } = require('events')
const { Server } = require('../../lib/sharing/server')
const { Session } = require('../../lib/sharing/session')
const { FrameReader } = require('../../lib/sharing/frame-reader')
const frames = require('../../lib/sharing/frames')
const bodies = require('../../lib/sharing/frame-bodies')
const { systemClock } = require('../../lib/clock')
const { event } = require('../helpers/reading')

tape('a client that has taken nothing for a while is told of the end of the log when it does', async (t) => {
  const server = new Server({ ackInterval: 0, filename: 'log' }, /** @type {any} */ ({}), systemClock)
  const log = { writer: { acknowledged: 100, appender: { lastSeq: 76 } } }
  server.log = log
  const ends = []
  const reader = new FrameReader((type, body) => { if (type === frames.END) ends.push(bodies.parseEnd(body).end) })
  const socket = Object.assign(new EventEmitter(), { writableLength: 0, write: bytes => reader.push(bytes), pause () {}, resume () {} })
  const session = new Session(server, socket)
  server.sessions.add(session)
  session.welcome({ checksum: true, isUnknown: false, blockSize: 65536, window: 1, epoch: 1, stored: 0, end: 100, lastSeq: 76, runs: [] })
  await event(setImmediate)

  socket.writableLength = 1 << 20
  log.writer.acknowledged = 200
  server.broadcast()
  t.deepEqual(ends, [], 'not while it takes nothing')
  socket.writableLength = 0
  socket.emit('drain')
  await event(setImmediate)
  t.deepEqual(ends, [200])
})
