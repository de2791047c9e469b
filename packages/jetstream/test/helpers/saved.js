'use strict'

// What servers have stored, and that put back later: as after a power cut, they have lost their tails.

const fs = require('fs')

let made = 0

class Saved {
  /** @param {import('./nats').Server[]} servers */
  constructor (...servers) {
    this.servers = servers
    this.suffix = `-saved-${++made}`
  }

  /** @param {() => void} [whenStopped] called when nothing is stored any more, until it is saved */
  async save (whenStopped = () => {}) {
    await this.stop('SIGTERM')
    whenStopped()
    for (const { store } of this.servers) copy(store, store + this.suffix)
    await this.start()
  }

  async restore () {
    await this.stop('SIGKILL')
    this.putBack()
    await this.start()
  }

  /** While they are stopped. */
  putBack () {
    for (const { store } of this.servers) {
      copy(store + this.suffix, store)
      fs.rmSync(store + this.suffix, { recursive: true })
    }
  }

  /** @param {NodeJS.Signals} signal */
  stop (signal) {
    return Promise.all(this.servers.map(server => server.stop(signal)))
  }

  start () {
    return Promise.all(this.servers.map(server => server.start()))
  }
}

/**
 * The folder itself stays: it may be a file system of its own.
 * @param {string} from
 * @param {string} to
 */
function copy (from, to) {
  fs.mkdirSync(to, { recursive: true })
  for (const name of fs.readdirSync(to)) fs.rmSync(`${to}/${name}`, { recursive: true })
  fs.cpSync(from, to, { recursive: true })
}

module.exports = { Saved }
