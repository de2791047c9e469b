'use strict'

// A client deletes a record that retention has trimmed meanwhile. On a simulated machine.

const tape = require('tape')
const { collect } = require('../helpers/reading')
const { machine } = require('../helpers/simulator/machine')

for (const who of ['the owner', 'a client']) {
  tape(`when ${who} is told that a record is trimmed, a power cut does not bring it back`, async (t) => {
    const { world, settled, open, lose, codeOf } = machine()
    const options = { shared: true, blockSize: 64, retain: { bytes: 256 } }
    const owner = await open(world.start(), '/log', options)
    const client = await open(world.start(), '/log', options)
    const seqs = []
    const log = who === 'a client' ? client : owner
    // fsyncs of FILE.meta are not made for a trim of retention
    while (owner.start === 0) seqs.push(await settled(owner.append('record')))
    t.equal(await codeOf(log.del(seqs[0])), 'flumelog:trimmed')
    lose()
    const again = await open(world.start(), '/log', { blockSize: 64 })
    t.notOk((await settled(collect(again.flumelog, { values: false }))).includes(seqs[0]))
    world.end()
  })
}
