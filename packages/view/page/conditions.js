// Filters that are made by a click: docs/filters.md.

import { Exact } from './exact.js'

/** Keys that a path can have. */
const KEY = /^[^\s()"=<>!~.,'][^\s()"=<>!~.,]*$/
const KEYWORD = /^(and|or|not)$/i
const MAX_VALUE = 200

/** @param {string[]} path @returns {string | null} null: it cannot be written in a filter */
export function pathText (path) {
  return path.length > 0 && path.every(key => KEY.test(key)) && !KEYWORD.test(path.join('.')) ? path.join('.') : null
}

/** @param {string[]} path @param {any} value @returns {string | null} what lets pass the records that have this value there */
export function conditionOf (path, value) {
  const name = pathText(path)
  if (name === null) return null
  if (value instanceof Exact) return `${name} = ${value.source}`
  if (typeof value === 'string') return value.length > MAX_VALUE ? null : `${name} = "${value.replace(/["\\]/g, '\\$&')}"`
  return typeof value === 'object' && value !== null ? null : `${name} = ${value}`
}

/** @param {string} q @param {string} condition @returns {string} both */
export function and (q, condition) {
  if (q === '') return condition
  return `${/\bor\b/i.test(q) ? `(${q})` : q} and ${condition}`
}
