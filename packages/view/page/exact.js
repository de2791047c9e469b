// JSON numbers that JavaScript would round.

/** A number as it is written. */
export class Exact {
  /** @param {string} source */
  constructor (source) {
    this.source = source
  }
}

const LONG = /\d{16}|\d\.\d{15}|\de/i

/**
 * @param {{ value?: any, text: string | null, encoding: string, truncated: boolean }} record
 * @returns {any} its value, with long numbers as they are written, where the browser tells how
 */
export function exactValue ({ value, text, encoding, truncated }) {
  if (value === undefined || encoding !== 'json' || truncated || text === null || !LONG.test(text)) return value
  try {
    return JSON.parse(text, (key, found, context) => typeof found === 'number' && context?.source !== undefined && String(found) !== context.source ? new Exact(context.source) : found)
  } catch {
    return value // it is too deep
  }
}
