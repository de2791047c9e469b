'use strict'

// What may be in a log when a process opens it: the log as it was, or as an operation that was interrupted would have left it.

/**
 * What is known of a record. `appended`, `deleted`: perhaps, since that had no answer; `refused`: its append got an error; `gone`: it is not there, whatever
 * happens.
 * @typedef {'there' | 'appended' | 'deleted' | 'refused' | 'gone'} State
 *
 * @typedef {object} Variant
 * @property {string | null} id of the log; null: not known
 * @property {string} [formerId] that it certainly has not
 * @property {string | null | undefined} previousId from which its offset map leads; null: it has none; undefined: not known
 * @property {Map<string, State>} records by their text; a compaction has those of the log that it replaces
 * @property {Map<string, number>} before where they were in the log with the previous id
 * @property {boolean} isNew an operation of this stage makes it
 *
 * @typedef {object} Known what a process may find that opens the log then, but for what becomes of it meanwhile
 * @property {Map<Variant['records'], Variant['records']>} states of the records of each variant, as they were
 * @property {number} replaced variants that it cannot find any more
 */

/** @type {Set<State>} */
const NOT_THERE = new Set(['refused', 'gone'])

class LogModel {
  /**
   * @param {string} path
   * @param {Map<string, string[]>} batches all records that were appended atomically with one
   * @param {(problem: string) => void} problem
   */
  constructor (path, batches, problem) {
    this.path = path
    this.batches = batches
    this.problem = problem
    /** @type {Variant[]} */
    this.variants = []
    this.mayBeAbsent = true
    /** The one that was found in this stage, or made since. @type {Variant | null} */
    this.current = null
    /** Those that were replaced in this stage, one by the other: who has opened one of them before sees it for a moment. @type {Variant[]} */
    this.former = []
    /** What it is called, and where its records are, for those who see it under this id. */
    this.id = ''
    /** @type {Map<string, number>} */
    this.seqs = new Map()
    /** Records of operations of this stage that have no answer, or an error. @type {Set<string>} */
    this.uncertain = new Set()
    /** Records whose state a power cut can take back, though it was acknowledged. @type {Set<string>} */
    this.volatile = new Set()
    /** Backups that are being made of it. @type {Variant[]} */
    this.copies = []
    /** Whether a process of this stage replaces it: another one would be refused. */
    this.isBusy = false
  }

  /** The processes of the last stage are gone. */
  begin () {
    for (const variant of this.variants) variant.isNew = false
    this.current = null
    this.former = []
    this.seqs = new Map()
    this.uncertain = new Set()
    this.copies = []
    this.isBusy = false
  }

  /** @returns {Known} */
  known () {
    return { states: new Map(this.variants.map(({ records }) => [records, new Map(records)])), replaced: this.former.length }
  }

  /**
   * @param {Map<string, number>} seqs of the records that were found, by their text
   * @param {string} id
   * @param {string | null | undefined} previousId from which the offset map leads; undefined: not looked at
   * @param {Known} known when the log was opened
   * @param {boolean} isReader it has changed nothing, and others may have
   * @returns {Variant | null}
   */
  found (seqs, id, previousId, known, isReader) {
    const reasons = []
    // one process has found out which of those it is that were left
    const left = this.current === null ? this.variants : this.variants.filter(variant => variant === this.current || variant.isNew)
    for (const variant of [...left.toReversed(), ...this.former.slice(known.replaced).toReversed()]) {
      const reason = this.difference(variant, seqs, id, previousId, known.states.get(variant.records) ?? null)
      if (reason === null) {
        if (!isReader) Object.assign(this, { current: variant, seqs, id })
        return variant
      }
      reasons.push(reason)
    }
    this.problem(`${this.path} has ${seqs.size} records, and ${reasons.join('; or ')}`)
    return null
  }

  /** @returns {string | null} why it is not this one */
  difference (variant, seqs, id, previousId, known) {
    if (variant.id !== null && id !== variant.id) return `its id is ${id}, not ${variant.id}`
    if (variant.id === null && id === variant.formerId) return `its id is that before the compaction, ${id}`
    if (previousId !== undefined && variant.previousId !== undefined && previousId !== variant.previousId) return `its map leads there from ${previousId}, not from ${variant.previousId}`
    for (const text of seqs.keys()) {
      const state = variant.records.get(text)
      if (state === undefined) return `${nameOf(text)} is there, which is not of it`
      // others are told a moment later of what was deleted since
      const before = known === null ? state : known.get(text) ?? (state === 'gone' ? 'deleted' : state)
      if (NOT_THERE.has(before)) return `${nameOf(text)} is there, which is ${state}`
    }
    for (const [text, state] of variant.records) if (state === 'there' && known?.get(text) === 'there' && !seqs.has(text)) return `${nameOf(text)} is missing`
    for (const text of seqs.keys()) {
      const missing = this.batches.get(text)?.find(other => !seqs.has(other) && variant.records.get(other) === 'appended')
      if (missing !== undefined) return `${nameOf(text)} is there, and ${nameOf(missing)} of its batch is not`
    }
    return null
  }

  /**
   * An operation starts.
   * @param {Iterable<string>} texts
   * @param {State} state
   */
  start (texts, state) {
    for (const text of texts) {
      this.uncertain.add(text)
      for (const { records } of [this.current, ...this.copies]) if (state === 'appended' || records.has(text)) records.set(text, state)
    }
  }

  /**
   * It is acknowledged.
   * @param {Iterable<string>} texts
   * @param {State} state
   * @param {boolean} isDurable
   */
  end (texts, state, isDurable) {
    for (const text of texts) {
      this.uncertain.delete(text)
      this.volatile.add(text)
      // another process may have deleted it before this one was told
      if (this.current.records.get(text) !== 'gone') this.current.records.set(text, state)
    }
    this.resolve()
    if (isDurable) this.confirm()
  }

  /** A power cut does not take them. @param {Iterable<string>} texts */
  keep (texts) {
    for (const text of texts) if (this.current.records.get(text) === 'there') this.volatile.delete(text)
  }

  /** They were refused. @param {Iterable<string>} texts */
  refuse (texts) {
    for (const text of texts) this.current.records.set(text, 'refused')
  }

  /** What was found stays, unless the power is cut, since something was done after that. */
  resolve () {
    const { current: { records }, seqs, uncertain, volatile } = this
    for (const [text, state] of records) {
      if (uncertain.has(text) || state === 'there' || state === 'gone') continue
      const isThere = seqs.has(text)
      // of what was interrupted, recovery has made durable what is not there
      if (state === 'refused' || (state === 'appended' && !isThere)) records.set(text, 'gone')
      else if (isThere) records.set(text, 'there')
      if (state !== 'refused') volatile.add(text)
    }
  }

  /**
   * @param {State[]} states
   * @returns {Map<string, State>} the records of these states that are acknowledged, and not durable
   */
  acknowledged (...states) {
    const { records } = /** @type {Variant} */ (this.current)
    const all = Array.from(this.volatile, text => /** @type {[string, State]} */ ([text, records.get(text)]))
    return new Map(all.filter(([, state]) => states.includes(state)))
  }

  /**
   * Something is durable: with it, what was acknowledged before.
   * @param {Map<string, State>} [durable] what was acknowledged when that was called; default: all
   */
  confirm (durable) {
    const { current } = this
    this.resolve()
    current.id = this.id
    this.mayBeAbsent = false
    this.variants = this.variants.filter(variant => variant === current || variant.isNew)
    for (const text of [...this.volatile]) if (durable === undefined || durable.get(text) === current.records.get(text)) this.volatile.delete(text)
  }

  /** @returns {Variant} another one that may be there from now on */
  add (variant) {
    const added = { before: new Map(), isNew: true, ...variant }
    this.variants.push(added)
    return added
  }

  /**
   * @param {Variant} variant that was added, and has replaced all others
   * @param {Variant | null} former the one that was there when that began: another process may have found the new one since
   */
  replaceBy (variant, former) {
    if (former !== null) this.former.push(former)
    this.variants = [variant]
    this.mayBeAbsent = false
  }

  /** What was not durable may not be there. */
  powerCut () {
    for (const { records } of this.variants) {
      for (const [text, state] of records) {
        if (state === 'there' && this.volatile.has(text)) records.set(text, 'appended')
        else if (state === 'gone' && this.volatile.has(text)) records.set(text, 'deleted')
      }
    }
    this.volatile = new Set()
  }
}

/** @param {string} text */
function nameOf (text) {
  return `record ${text.split(':')[0]}`
}

module.exports = { LogModel, nameOf }
