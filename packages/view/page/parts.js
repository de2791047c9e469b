// Which byte of a block is what: format.md, made visible.

/**
 * @typedef {object} Part
 * @property {number} from position of its first byte
 * @property {number} to position after its last byte
 * @property {'length' | 'data' | 'gone' | 'mark' | 'zeros' | 'checksum' | 'pointer' | 'unreadable'} kind
 * @property {number} owner position of the record or padding that it belongs to
 */

/**
 * @param {{ records: { position: number, length: number, deleted: boolean }[], padding: { position: number, length: number } | null, checksum: any, unreadable?: { position: number, length: number } }} block
 * @param {Uint8Array} content
 * @returns {Part[]} in order
 */
export function partsOf ({ records, padding, checksum, unreadable }, content) {
  /** @type {Part[]} */
  const parts = []
  for (const { position: owner, length, deleted } of records) {
    const data = owner + 2
    parts.push({ from: owner, to: data, kind: 'length', owner })
    parts.push({ from: data, to: data + length, kind: deleted ? 'gone' : 'data', owner })
    parts.push({ from: data + length, to: data + length + 2, kind: 'length', owner })
  }
  if (unreadable !== undefined) parts.push({ from: unreadable.position, to: unreadable.position + unreadable.length, kind: 'unreadable', owner: unreadable.position })
  if (padding !== null) {
    const owner = padding.position
    const end = content.length
    const zerosEnd = checksum === null ? end - 4 : end - 8
    parts.push({ from: owner, to: owner + 2, kind: 'mark', owner })
    if (zerosEnd > owner + 2) parts.push({ from: owner + 2, to: zerosEnd, kind: 'zeros', owner })
    if (checksum !== null) parts.push({ from: end - 8, to: end - 4, kind: 'checksum', owner })
    parts.push({ from: end - 4, to: end, kind: 'pointer', owner })
  }
  return parts
}

/** @param {Part[]} parts @param {number} position @returns {Part | undefined} by binary search */
export function partAt (parts, position) {
  let low = 0
  let high = parts.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (parts[middle].to <= position) low = middle + 1
    else high = middle
  }
  return parts[low] !== undefined && parts[low].from <= position ? parts[low] : undefined
}
