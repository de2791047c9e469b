'use strict'

// Answers as those of nats-server 2.15.2: three of a cluster, one of which is stopped for five to eight seconds, and goes on.

const test = require('tape')
const { hasMajority } = require('../lib/connection/majority')

const infoOf = (cluster, replicas = 3) => ({ config: { num_replicas: replicas }, cluster })

test('a leader that hears of the others speaks for a majority', (t) => {
  t.ok(hasMajority(infoOf({ leader: 'a', replicas: [{ name: 'b', current: true, active: 689_000_000 }, { name: 'c', current: true, active: 1_521_000_000 }] })))
  t.ok(hasMajority(infoOf({ leader: 'a', replicas: [{ name: 'b', current: false, active: 0 }, { name: 'c', current: true, active: 216_000_000 }] })), 'also if one of them has to catch up')
  t.ok(hasMajority(infoOf({ leader: 'a' }, 1)))
  t.end()
})

test('a leader that has hung does not, though it takes the others for current', (t) => {
  t.notOk(hasMajority(infoOf({ leader: 'a', replicas: [{ name: 'b', current: true, active: 7_961_386_934 }, { name: 'c', current: true, active: 7_961_179_396 }] })))
  t.notOk(hasMajority(infoOf({ leader: 'a', replicas: [{ name: 'b', current: true, active: 5_493_906_474 }, { name: 'c', current: true, active: 5_493_952_482 }] })))
  t.end()
})

test('nor does one that has just heard of the leader that was elected meanwhile', (t) => {
  t.notOk(hasMajority(infoOf({ leader: 'b', replicas: [{ name: 'c', current: false, active: 0 }, { name: 'b', current: true, active: 20_555_944 }] })))
  t.notOk(hasMajority(infoOf({ leader: '', replicas: [] })))
  t.end()
})
