'use strict'

// What a named cursor promises: it is at a position that was committed, at the last one that survives a crash or a later one, and it gives each
// record after its position.

/** @template Entry a record */
class CursorModel {
  /**
   * @param {string} name
   * @param {(entry: Entry) => string} nameOf
   */
  constructor (name, nameOf) {
    this.name = name
    this.nameOf = nameOf
    /** What was given in front of the positions that were committed, in order. @type {Entry[]} */
    this.done = []
    /** How many of them are behind the position: after a power cut, after a kill, and at most. */
    this.durable = this.acknowledged = this.asked = 0
    /** What was given, and may be on either side of the position: a commit of it had no answer. @type {Set<Entry>} */
    this.uncertain = new Set()
    /** What is in front of positions of which a commit may be stored, also one that got an error: a power cut may leave it. @type {Set<Entry>} */
    this.tried = new Set()
    /** Whether a power cut may take the record at which it is: an fsync of another process had failed before its holder opened the log. */
    this.mayBeLost = false
  }

  /**
   * What was given after the position.
   * @param {Entry[]} given
   * @param {object} about
   * @param {string} about.who
   * @param {Iterable<Entry>} about.expected what is in the log for certain, and was reached
   * @param {(problem: string) => void} about.problem
   */
  gave (given, { who, expected, problem }) {
    const seen = new Set(given)
    for (const entry of this.done.slice(0, this.acknowledged)) {
      if (seen.has(entry)) problem(`${who}: ${this.nameOf(entry)} again, though the cursor ${this.name} was committed after it`)
    }
    const done = new Set(this.done.slice(0, this.asked))
    for (const entry of expected) {
      if (seen.has(entry) || done.has(entry) || this.uncertain.has(entry)) continue
      // a commit that got an error is where it is: a later one, before this record, was not durable
      if (this.tried.has(entry)) this.uncertain.add(entry)
      else problem(`${who}: the cursor ${this.name} has passed over ${this.nameOf(entry)}`)
    }
    // where it is now: it has given the first that is after its position
    const at = this.done.findIndex(entry => seen.has(entry))
    if (at !== -1) this.asked = at
    else {
      // a deletion of what is given now may have been lost together with a commit after it
      for (const entry of this.done.slice(this.acknowledged, this.asked)) this.uncertain.add(entry)
      this.asked = Math.min(this.asked, this.acknowledged)
    }
    this.done.length = this.asked
    this.done.push(...given)
    for (const entry of given) this.uncertain.delete(entry)
  }

  /**
   * A commit of a record that was given.
   * @param {Entry} entry
   * @returns {(isDurable: boolean) => Entry[]} to be called when it is answered, with whether a power cut cannot take it: returns the records in front
   *   of the position
   */
  commit (entry) {
    const count = this.done.indexOf(entry) + 1
    this.asked = count
    for (const each of this.done.slice(0, count)) this.tried.add(each)
    return (isDurable) => {
      this.acknowledged = Math.max(this.acknowledged, count)
      if (isDurable) {
        this.durable = this.acknowledged
        this.mayBeLost = false
        this.tried.clear()
      }
      return this.done.slice(0, count)
    }
  }

  /**
   * Its holder has closed it. By the time it is told so, another process can have opened it, and committed what is not durable yet.
   * @param {number} acknowledged when it called `close`
   */
  closed (acknowledged) {
    this.durable = Math.max(this.durable, Math.min(acknowledged, this.acknowledged))
  }

  powerCut () {
    this.acknowledged = this.durable
  }

  /**
   * Nothing is known of its position, or it starts at the beginning again.
   * @param {Entry[]} [given] after the position
   * @param {Iterable<Entry>} [others] of which any may be in front of the position
   */
  reset (given = [], others = []) {
    this.done = [...given]
    this.uncertain = new Set(others)
    for (const entry of given) this.uncertain.delete(entry)
    this.tried.clear()
    this.durable = this.acknowledged = this.asked = 0
  }
}

module.exports = { CursorModel }
