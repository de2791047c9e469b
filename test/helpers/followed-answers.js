'use strict'

// Whether what a follower of a log was answered was right for some moment between call and answer, by what happened to the log
// meanwhile. What the follower could not have heard of yet, it need not know.

/**
 * @typedef {object} Call
 * @property {'get' | 'getPrevious' | 'search' | 'stream' | 'live'} what
 * @property {string | number} about
 * @property {number} askedAt
 * @property {number} settledAt when the follower had heard of everything, before that
 * @property {number} since what it knew
 * @property {string} id of the log, as far as it knew
 * @property {number} answeredAt Infinity: it was not
 * @property {string | null} code of the error
 * @property {any} answer
 * @property {number | null} [seq] that it was called with
 * @property {number} [number] of the record that is searched
 * @property {any} [options] of a stream
 * @property {Array<{ seq: number, value: Buffer }>} [given] by a stream
 */

class FollowedAnswers {
  /**
   * @param {import('./followed-log').FollowedLog} model
   * @param {'client' | 'reader'} kind of the follower
   */
  constructor (model, kind) {
    this.model = model
    this.kind = kind
    /** @type {string[]} */
    this.problems = []
  }

  /**
   * @param {Call} call
   * @param {string} why
   */
  problem (call, why) {
    this.problems.push(`${call.what} ${call.about}, asked at ${call.askedAt} (settled at ${call.settledAt}, knew ${call.since}): ${why}`)
  }

  /** @param {Call} call */
  check (call) {
    if (call.answeredAt === Infinity) this.problem(call, 'no answer')
    else if (call.what === 'get') this.checkGet(call)
    else if (call.what === 'getPrevious') this.checkPrevious(call)
    else if (call.what === 'search') this.checkSearch(call)
    else if (call.what === 'stream') this.checkStream(call)
    // what it has given was looked at before
    else if (call.code !== null) this.checkCode(call)
  }

  // Errors

  /**
   * Only the map of the last compaction is kept, and nobody waits for readers, or for a client that is not connected.
   * @param {number} from
   * @param {number} until
   */
  mayMissCompactions (from, until) {
    const { model, kind } = this
    return model.count('compaction', from, until) > 1 && (kind === 'reader' || model.count('opening', from, until) > 0)
  }

  /** @param {Call} call */
  checkCode (call) {
    const { code, settledAt, answeredAt } = call
    const isRight = code === 'flumelog:trimmed'
      ? this.mayBeTrimmed(call)
      : code === 'flumelog:compacted'
        ? this.model.count('compaction', settledAt, answeredAt) > 0
        : code === 'flumelog:replaced' && this.mayMissCompactions(settledAt, answeredAt)
    if (!isRight) this.problem(call, String(code))
  }

  /** @param {Call} call */
  mayBeTrimmed ({ options, seq = null, settledAt, answeredAt }) {
    const { model } = this
    if (options?.fromStart) return false
    // seqs may be from before
    const from = seq === null ? settledAt : 0
    return model.count('trim', from, answeredAt) > 0 || (seq !== null && model.count('compaction', 0, answeredAt) > 0)
  }

  // Records

  /**
   * @param {Call} call
   * @param {{ seq: number, value: Buffer }} given
   * @returns {import('./followed-log').Record | null} null: it may not be given
   */
  recordIn (call, { seq, value }) {
    const record = this.model.recordOf(value)
    if (record === null) this.problem(call, `wrong value ${value.toString('hex')} at ${seq}`)
    else if (!record.seqs.includes(seq)) this.problem(call, `record ${record.number} at ${seq} instead of ${record.seqs}`)
    else if (record.goneAt <= call.settledAt) this.problem(call, `record ${record.number} was gone at ${record.goneAt}`)
    else return record
    return null
  }

  /**
   * Between these there must be no record that is there all the time, and that the follower knew of.
   * @param {Call} call
   * @param {number} from
   * @param {number} to
   */
  checkNone (call, from, to) {
    const known = this.model.knownBy(call.since)
    for (const { number, goingAt, seqs } of this.model.records) {
      if (seqs.length === 0 || number <= from || number >= to || number > known) continue
      if (goingAt > call.answeredAt) this.problem(call, `record ${number} is missing`)
    }
  }

  /** @param {Call} call */
  checkGet (call) {
    const { code, since, answeredAt } = call
    const seq = Number(call.seq)
    const record = this.model.at(seq)
    if (code === null) {
      const found = this.recordIn(call, call.answer)
      if (found !== null && found !== record) this.problem(call, `record ${found.number} instead of ${record.number}`)
    } else if (code === 'flumelog:deleted') {
      if (record.goingAt > answeredAt) this.problem(call, code)
    } else if (code === 'flumelog:not-found') {
      if (record.number <= this.model.knownBy(since) && record.goingAt > answeredAt && since >= seq) this.problem(call, code)
    } else this.checkCode(call)
  }

  /** @param {Call} call */
  checkPrevious (call) {
    const { code, since, answeredAt } = call
    const seq = Number(call.seq)
    const record = this.model.at(seq)
    if (code === null) {
      const found = this.recordIn(call, call.answer)
      if (found === null) return
      if (found.number >= record.number) this.problem(call, `record ${found.number}`)
      else this.checkNone(call, found.number, record.number)
    } else if (code === 'flumelog:not-found') {
      if (since >= seq && record.goingAt > answeredAt) this.checkNone(call, -1, record.number)
    } else this.checkCode(call)
  }

  /** @param {Call} call */
  checkSearch (call) {
    const { code } = call
    const number = Number(call.number)
    if (code === null) {
      const found = this.recordIn(call, call.answer)
      if (found === null) return
      if (found.number < number) this.problem(call, `record ${found.number}`)
      else this.checkNone(call, number - 1, found.number)
    } else if (code === 'flumelog:not-found') this.checkNone(call, number - 1, Infinity)
    else this.checkCode(call)
  }

  /**
   * @param {Call} call of a stream
   * @returns {Set<number> | null} numbers of the records that it has given; null: they are not right
   */
  numbersIn (call) {
    /** @type {Set<number>} */
    const numbers = new Set()
    let before = call.options.reverse ? Infinity : -Infinity
    for (const item of call.given ?? []) {
      const record = this.recordIn(call, item)
      if (record === null) return null
      const { number } = record
      if (call.options.reverse ? number >= before : number <= before) {
        this.problem(call, `record ${number} came after ${before}`)
        return null
      }
      numbers.add(number)
      before = number
    }
    return numbers
  }

  /** @param {Call} call */
  checkStream (call) {
    const { model } = this
    const { options, seq, code, answeredAt, since, id } = call
    const numbers = this.numbersIn(call)
    if (numbers === null) return
    if (code !== null) return this.checkCode(call)
    // one from before a compaction that the follower knew, or since one that it did not know
    if (typeof seq === 'number' && !model.isOf(seq, id)) return
    const bound = typeof seq === 'number' ? model.at(seq).number : NaN
    const isInRange = (/** @type {number} */ number) => !(number <= bound && options.gt !== undefined) && !(number < bound && options.gte !== undefined) &&
      !(number >= bound && options.lt !== undefined) && !(number > bound && options.lte !== undefined)
    const known = model.knownBy(since)
    for (const { number, seqs, goingAt } of model.records) {
      if (numbers.has(number) && !isInRange(number)) this.problem(call, `record ${number} is out of range`)
      const mustBeThere = seqs.length > 0 && number <= known && goingAt > answeredAt && isInRange(number)
      if (mustBeThere && !numbers.has(number)) this.problem(call, `record ${number} is missing`)
    }
  }

  /** @param {Call} call of a live stream that has had the time to give all that there is */
  checkLive (call) {
    const numbers = this.numbersIn(call)
    if (numbers === null) return
    // where one without old records begins is not known, and so not whether it has given all
    const isNew = call.options.old === false
    const first = isNew ? Math.min(...numbers) : -1
    const last = isNew ? Math.max(...numbers) : Infinity
    for (const { number } of this.model.alive) {
      if (number > first && number < last && !numbers.has(number)) this.problem(call, `record ${number} is missing`)
    }
  }
}

module.exports = { FollowedAnswers }
