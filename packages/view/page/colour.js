// Colours JSON, also if it is cut off, and marks what a filter has found. What it makes are text nodes: a record is never markup.

import { h } from './vendor/preact.js'
import { visible } from './format.js'

const TOKENS = /("(?:\\.|[^"\\])*"?)(\s*:)?|(-?\d[\d.eE+-]*)|(\b(?:true|false|null)\b)|[^"\d\-tfn]+|[\s\S]/g

/** @typedef {[from: number, to: number]} Mark */

/**
 * @param {string} line
 * @param {Mark[]} [marks] in order
 * @returns {any[]} nodes
 */
export function coloured (line, marks = []) {
  const pieces = []
  for (const [token, string, colon, number, literal] of line.matchAll(TOKENS)) {
    if (string !== undefined) {
      pieces.push([colon === undefined ? 'string' : 'key', string])
      if (colon !== undefined) pieces.push(['', colon])
    } else pieces.push([number !== undefined ? 'number' : literal !== undefined ? 'literal' : '', token])
  }
  return nodesOf(pieces, marks)
}

/**
 * @param {string} text
 * @param {Mark[]} marks
 * @returns {any[]} nodes
 */
export const marked = (text, marks) => nodesOf([['', text]], marks)

/** @param {string[][]} pieces name of a class, text @param {Mark[]} marks */
function nodesOf (pieces, marks) {
  const all = new Nodes()
  let at = 0
  let next = 0
  for (const [name, text] of pieces) {
    const start = at
    while (at < start + text.length) {
      const end = start + text.length
      while (next < marks.length && marks[next][1] <= at) next++
      const [from, to] = marks[next] ?? [Infinity, Infinity]
      const isMarked = at >= from
      const until = Math.min(end, isMarked ? to : from)
      const nodes = isMarked ? all.marked(next) : all
      nodes.add(name, visible(text.slice(at - start, until - start)))
      at = until
    }
  }
  return all.end()
}

class Nodes {
  constructor () {
    this.list = []
    this.plain = ''
    /** What is in the mark that is open, and its number. @type {Nodes | null} */
    this.inMark = null
    this.mark = -1
  }

  add (name, text) {
    this.endMark()
    if (name === '') this.plain += text
    else this.flush(h('span', { class: name }, text))
  }

  /** @param {number} number of the mark @returns {Nodes} what is in it */
  marked (number) {
    if (this.inMark === null || this.mark !== number) {
      this.endMark()
      this.inMark = new Nodes()
      this.mark = number
    }
    return this.inMark
  }

  endMark () {
    if (this.inMark === null) return
    this.flush(h('mark', {}, this.inMark.end()))
    this.inMark = null
  }

  flush (node) {
    if (this.plain !== '') this.list.push(this.plain)
    this.plain = ''
    if (node !== undefined) this.list.push(node)
  }

  end () {
    this.endMark()
    this.flush()
    return this.list
  }
}
