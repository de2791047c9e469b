'use strict'

// The formats of dump for other programs: JSON and CSV, one record per line.

const { isUtf8 } = require('buffer')
const { checkedJson } = require('./encodings')
const { cellText, rowOf } = require('../lib/json/csv')
const json = require('../lib/json/text')

/** @typedef {import('./printer').Format} Format */

/** One JSON object per record, whatever the record contains. @type {Format} */
const ndjson = {
  isText: true,
  print: (data, seq) => {
    if (!isUtf8(data)) return `{"seq":${seq},"base64":"${data.toString('base64')}"}`
    return `{"seq":${seq},"value":${jsonOf(data)}}`
  }
}

/** @param {Buffer} data UTF-8 */
function jsonOf (data) {
  const text = data.toString()
  try {
    JSON.parse(text)
  } catch {
    return JSON.stringify(text)
  }
  // not the parsed value: long numbers would be rounded
  return json.compact(data).toString()
}

/**
 * Values at paths of records that are JSON.
 * @param {string[]} fields paths
 * @param {boolean} [seqs] whether the first column is the seq
 * @returns {Format}
 */
function csvFormat (fields, seqs = false) {
  const columns = fields.map(field => ({ field, keys: field.split('.') }))
  /** Fields that no record has had yet. */
  const missing = new Set(fields)
  let records = 0
  return {
    isText: true,
    header: rowOf(seqs ? ['seq', ...fields] : fields),
    advice: '--format csv needs records that are JSON',
    note: () => records === 0 || missing.size === 0 ? null : missingNote('printed', [...missing]),
    print: (data, seq) => {
      const find = json.finder(checkedJson(data))
      records++
      const cells = columns.map(({ field, keys }) => {
        const found = find(keys)
        if (found !== undefined) missing.delete(field)
        return cellText(found)
      })
      return rowOf(seqs ? [String(seq), ...cells] : cells)
    }
  }
}

/**
 * @param {string} what was done with the records
 * @param {string[]} fields that none of them has
 */
function missingNote (what, fields) {
  return `no record ${what} has ${fields.map(field => `\`${field}\``).join(' or ')}; check --fields`
}

module.exports = { ndjson, csvFormat, missingNote }
