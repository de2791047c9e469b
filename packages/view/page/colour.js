// Colours JSON, also if it is cut off. What it makes are text nodes: a record is never markup.

import { h } from './vendor/preact.js'
import { visible } from './format.js'

const TOKENS = /("(?:\\.|[^"\\])*"?)(\s*:)?|(-?\d[\d.eE+-]*)|(\b(?:true|false|null)\b)|[^"\d\-tfn]+|[\s\S]/g

/**
 * @param {string} line
 * @returns {any[]} nodes
 */
export function coloured (line) {
  const nodes = []
  let plain = ''
  const add = (name, text) => {
    if (plain !== '') nodes.push(plain)
    plain = ''
    nodes.push(h('span', { class: name }, text))
  }
  for (const [token, string, colon, number, literal] of visible(line).matchAll(TOKENS)) {
    if (string !== undefined) {
      add(colon === undefined ? 'string' : 'key', string)
      plain += colon ?? ''
    } else if (number !== undefined) add('number', number)
    else if (literal !== undefined) add('literal', literal)
    else plain += token
  }
  if (plain !== '') nodes.push(plain)
  return nodes
}
