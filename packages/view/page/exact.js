// JSON numbers that JavaScript would round.

/** A number as it is written. */
export class Exact {
  /** @param {string} source */
  constructor (source) {
    this.source = source
  }
}

/**
 * @param {string} text JSON
 * @returns {any} its value, with the numbers that would be rounded as they are written, where the browser tells how
 */
export function parseExact (text) {
  try {
    return JSON.parse(text, (_, found, context) => typeof found === 'number' && context?.source !== undefined && isRounded(found, context.source) ? new Exact(context.source) : found)
  } catch {
    return JSON.parse(text) // it is too deep
  }
}

/** @param {number} found @param {string} source */
const isRounded = (found, source) => String(found) !== source && LONG.test(source)
const LONG = /\d{16}|\d\.\d{15}|\de/i
