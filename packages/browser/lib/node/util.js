'use strict'

// What the log uses of `util`.

const custom = Symbol('promisify')

/** @param {any} call with a callback */
function promisify (call) {
  return call[custom] ?? ((/** @type {any[]} */ ...args) => new Promise((resolve, reject) => call(...args, (/** @type {any} */ err, /** @type {any} */ result) => err ? reject(err) : resolve(result))))
}
promisify.custom = custom

/** @param {(...args: any[]) => Promise<any>} run */
function callbackify (run) {
  return (/** @type {any[]} */ ...args) => {
    const cb = args.pop()
    // outside of the promise, which would catch what it throws
    run(...args).then(
      result => queueMicrotask(() => cb(null, result)),
      reason => queueMicrotask(() => cb(reason || Object.assign(new Error('a promise was rejected with a falsy value'), { code: 'ERR_FALSY_VALUE_REJECTION', reason })))
    )
  }
}

/**
 * For messages.
 * @param {any} value
 * @returns {string}
 */
function inspect (value) {
  if (typeof value === 'string') return `'${value.length > 80 ? `${value.slice(0, 80)}... ${value.length - 80} more characters` : value}'`
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') return `[Function: ${value.name || '(anonymous)'}]`
  if (Array.isArray(value)) return value.length === 0 ? '[]' : '[Array]'
  if (value instanceof Error) return String(value)
  if (value === null || typeof value !== 'object') return String(value)
  const name = value.constructor?.name ?? 'Object'
  return name === 'Object' ? JSON.stringify(value) : `[${name}]`
}

/**
 * @param {any} a
 * @param {any} b
 * @returns {boolean}
 */
function isDeepStrictEqual (a, b) {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every(key => Object.hasOwn(b, key) && isDeepStrictEqual(a[key], b[key]))
}

const types = {
  isDate: (/** @type {unknown} */ value) => value instanceof Date,
  isMap: (/** @type {unknown} */ value) => value instanceof Map,
  isSet: (/** @type {unknown} */ value) => value instanceof Set,
  isUint8Array: (/** @type {unknown} */ value) => value instanceof Uint8Array,
  isAsyncFunction: (/** @type {any} */ value) => value?.constructor?.name === 'AsyncFunction'
}

module.exports = { promisify, callbackify, inspect, isDeepStrictEqual, types }
