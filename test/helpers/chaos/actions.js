'use strict'

// What is done to processes that share a log, one of these at a time.

const fs = require('fs')
const path = require('path')
const { event } = require('../reading')

/** Milliseconds, at most. */
const FULL_FOR = 150

/** @typedef {{ name: string, needsDisk?: boolean, run: (round: import('./round').Round, random: any) => Promise<void> }} Action */

/** @type {Action[]} */
const ACTIONS = [
  {
    name: 'kill the owner',
    async run (round) {
      const { owner } = round
      round.kill(owner)
      await round.nextOwner(owner)
    }
  },
  {
    name: 'kill the owner, and the next one soon',
    async run (round, random) {
      const { owner } = round
      round.kill(owner)
      await wait(random.below(15))
      round.kill(round.client())
      await round.nextOwner(owner)
      const next = round.owner
      if (next.isDoomed) await round.until(() => round.owner !== next, 'the owner after the next')
    }
  },
  {
    name: 'close the owner',
    async run (round) {
      const { owner } = round
      owner.isDoomed = true
      owner.process.send({ leave: true })
      await round.nextOwner(owner)
      await round.until(() => owner.process.isOver, 'the end of a closed owner')
    }
  },
  {
    name: 'stop the owner',
    async run (round, random) {
      const { owner } = round
      round.stop(owner)
      await wait(random.pick([10, 100, 600]))
      round.continue(owner)
    }
  },
  {
    name: 'stop the owner and kill it',
    async run (round, random) {
      const { owner } = round
      round.stop(owner)
      await wait(random.pick([5, 50, 400]))
      round.kill(owner)
      await round.nextOwner(owner)
    }
  },
  {
    name: 'stop a client while the owner dies',
    async run (round, random) {
      const { owner } = round
      const client = round.client()
      if (client === owner) return
      round.stop(client)
      await wait(random.below(20))
      round.kill(owner)
      await wait(random.pick([0, 20, 200]))
      round.continue(client)
      await round.nextOwner(owner)
    }
  },
  {
    name: 'kill a client',
    async run (round) {
      const client = round.client()
      if (client !== round.owner) round.kill(client)
    }
  },
  {
    name: 'close a client',
    async run (round) {
      const client = round.client()
      if (client === round.owner) return
      client.isDoomed = true
      client.process.send({ leave: true })
    }
  },
  {
    name: 'close a client while the owner dies',
    async run (round, random) {
      const { owner } = round
      const client = round.client()
      if (client === owner) return
      client.isDoomed = true
      client.process.send({ leave: true })
      await wait(random.below(4))
      round.kill(owner)
      await round.nextOwner(owner)
      await round.until(() => client.process.isOver, 'the end of a closed client')
      if (round.owner === client) await round.nextOwner(client)
    }
  },
  {
    name: 'kill a reader',
    async run (round, random) {
      round.kill(random.pick(round.readers))
    }
  },
  {
    name: 'close a reader',
    async run (round, random) {
      const reader = random.pick(round.readers.filter(one => !one.isDoomed))
      if (reader === undefined) return
      reader.isDoomed = true
      reader.process.send({ leave: true })
    }
  },
  {
    name: 'delete the socket',
    async run (round) {
      fs.rmSync(round.file + '.socket', { force: true })
    }
  },
  {
    name: 'rename the folder, and kill the owner',
    async run (round, random) {
      // one that opens the log now would create another one
      round.mayStart(false)
      await round.opened(true)
      const { owner } = round
      const folder = path.dirname(round.file)
      fs.renameSync(folder, `${folder}-renamed`)
      await wait(random.below(100))
      if (random() < 0.5) round.kill(owner)
      await wait(random.below(100))
      fs.renameSync(`${folder}-renamed`, folder)
      round.mayStart(true)
    }
  },
  {
    name: 'compact',
    async run (round, random) {
      await round.ended(round.compact(random.pick([1, 1, 2])))
    }
  },
  {
    name: 'compact, and kill the owner meanwhile',
    async run (round, random) {
      const { owner } = round
      round.compact()
      if (random() < 0.5) await wait(random.below(random.pick([30, 200, 1000])))
      else await round.switching(random.pick(['.unfinished', '.offset-map']))
      await wait(random.below(3))
      round.kill(owner)
      await round.nextOwner(owner)
    }
  },
  {
    name: 'compact, and kill or stop clients meanwhile',
    async run (round, random) {
      const isOver = round.compact()
      await wait(random.below(random.pick([30, 200, 1000])))
      const [killed, stopped] = [round.client(), round.client()]
      if (killed !== round.owner && random() < 0.5) round.kill(killed)
      if (stopped !== round.owner && stopped !== killed) {
        round.stop(stopped)
        await wait(random.pick([10, 100, 600]))
        round.continue(stopped)
      }
      await round.ended(isOver)
    }
  },
  {
    name: 'fill the disk',
    needsDisk: true,
    async run (round, random) {
      round.fillDisk()
      await wait(random.below(FULL_FOR))
      round.disk.makeRoom()
    }
  },
  {
    name: 'fill the disk and kill the owner',
    needsDisk: true,
    async run (round, random) {
      const { owner } = round
      round.fillDisk()
      await wait(random.below(FULL_FOR))
      round.kill(owner)
      await wait(random.below(FULL_FOR))
      round.disk.makeRoom()
      await round.nextOwner(owner)
    }
  }
]

function wait (milliseconds) {
  return event(resolve => setTimeout(resolve, milliseconds))
}

module.exports = { ACTIONS, wait }
