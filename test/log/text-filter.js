'use strict'

// A filter by text looks at bytes first: what it passes over there must contain no hit.

const test = require('tape')
const { filterOf, quoted } = require('../../json')

const TEXTS = ['größe', 'GRÖSSE', 'Straße', 'ẞ', 'Привет', 'ПРИВЕТ', 'Ελλάδας', 'σίσυφος', 'ΣΊΣΥΦΟΣ', 'İstanbul', 'ıstanbul', 'Kelvin K', 'ſlow', 'µ μ', '日本語', '😀 smile', '𐐷𐐏', 'é', 'e\u0301', '\u0345', 'ﬁ', 'a.b*c(d)[é]', 'no match ÿ']

test('in upper or lower case, a text is found in the bytes of each record in which it is found in the text', (t) => {
  const forms = (/** @type {string} */ text) => [text, text.toUpperCase(), text.toLowerCase(), text.normalize('NFD'), `…${text}…`, text.slice(1), '']
  let hits = 0
  for (const wanted of TEXTS) {
    const filter = filterOf(quoted(wanted), 'utf8')
    const found = new RegExp(wanted.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu')
    for (const text of TEXTS.flatMap(forms)) {
      const bytes = Buffer.from(text)
      const isHit = found.test(text)
      if (isHit) hits++
      if (filter.mayMatch(bytes, bytes.length) !== isHit || filter.matches({ text }, bytes) !== isHit) t.fail(`${wanted} in ${text}`)
    }
  }
  t.ok(hits > 100, `${hits} hits`)
  t.end()
})

test('a filter by a text that is not ASCII passes over bytes in which it is not', (t) => {
  const { mayMatch } = filterOf('größe', 'json')
  const block = Buffer.from(JSON.stringify({ name: 'Große Größenordnung', other: 'nichts' }))
  t.equal(mayMatch(block, block.length), true)
  t.equal(mayMatch(block, 10), false)
  t.equal(mayMatch(block, block.length, 30), false, 'from a position on')
  t.end()
})
