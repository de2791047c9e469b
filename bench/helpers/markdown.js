'use strict'

// Shared by the pages with figures.

/**
 * @param {string[]} head
 * @param {Array<Array<string | number>>} rows
 * @returns {string} a table; by default, all columns but the first are right-aligned
 */
function table (head, rows, alignment = head.map((_, i) => i === 0 ? '---' : '---:')) {
  return [head, alignment, ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')
}

/** @param {{ date: string, machine: string, system: string }} about */
function place ({ date, machine, system }) {
  return `${date}, ${machine}, ${system}`
}

/** @param {{ versions: Record<string, string> }} about */
function nodeOf ({ versions }) {
  return `Node.js ${versions.node}`
}

/** @param {{ versions: Record<string, string> }} about */
function versions ({ versions }) {
  return Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(', ')
}

module.exports = { table, place, nodeOf, versions }
