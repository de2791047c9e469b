'use strict'

// Numbers of records that say which process appended them, and sets of such numbers.

/** Numbers of one process: `member * MEMBER + n`. */
const MEMBER = 2 ** 20

/** Numbers that come in order, process by process. */
class NumberRanges {
  constructor () {
    /** By process: pairs of first and last. @type {Map<number, number[]>} */
    this.ranges = new Map()
    /** By process. @type {Map<number, number>} */
    this.last = new Map()
    this.lastSeq = -1
  }

  /**
   * @param {number} number
   * @param {number} seq
   * @returns {string | null} what is wrong with its coming now
   */
  add (number, seq) {
    const member = Math.floor(number / MEMBER)
    const last = this.last.get(member) ?? 0
    const lastSeq = this.lastSeq
    if (number <= last) return `record ${name(number)} at ${seq} after ${name(last)}`
    if (seq <= lastSeq) return `record ${name(number)} at ${seq} after one at ${lastSeq}`
    this.last.set(member, number)
    this.lastSeq = seq
    const ranges = this.ranges.get(member) ?? []
    this.ranges.set(member, ranges)
    if (ranges.length > 0 && ranges.at(-1) === number - 1) ranges[ranges.length - 1] = number
    else ranges.push(number, number)
    return null
  }

  /** @param {number} number */
  has (number) {
    const ranges = this.ranges.get(Math.floor(number / MEMBER)) ?? []
    // the one that is looked for is usually the last
    for (let i = ranges.length - 2; i >= 0; i -= 2) if (ranges[i] <= number) return number <= ranges[i + 1]
    return false
  }

  toJSON () {
    return [...this.ranges.values()].flat()
  }
}

/**
 * @param {number[]} ranges as of `toJSON`
 * @returns {Set<number>}
 */
function numbersOf (ranges) {
  const numbers = new Set()
  for (let i = 0; i < ranges.length; i += 2) for (let number = ranges[i]; number <= ranges[i + 1]; number++) numbers.add(number)
  return numbers
}

/** @param {number} number */
function name (number) {
  return `${Math.floor(number / MEMBER)}:${number % MEMBER}`
}

module.exports = { MEMBER, NumberRanges, numbersOf, name }
