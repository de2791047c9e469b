// A JSON value as a tree. Only what is unfolded is looked at, so depth and size do no harm.

import { Component, html } from './vendor/preact.js'
import { conditionOf, pathText } from './conditions.js'
import { Exact } from './exact.js'
import { visible } from './format.js'

/** Levels that are unfolded at first. */
const UNFOLDED = 2
/** Children of one node that are shown at first, and added with each "more". */
const STEP = 100
const MAX_TEXT = 2000
/** Levels from which on the indent stays the same. */
const MAX_INDENT = 24
const INDENT = 16

/**
 * @typedef {object} Node
 * @property {string} id path of positions
 * @property {string | null} key
 * @property {any} value
 * @property {number} level from 1
 * @property {Node | null} parent
 * @property {boolean} isCut whether it may have more children than are known
 * @property {number} [more] children that are not shown yet
 */

export class Tree extends Component {
  constructor (props) {
    super(props)
    /** Whether a node is unfolded, if that is not the default; and how many children it shows. */
    this.isUnfolded = new Map()
    this.shown = new Map()
    this.state = { focused: this.unfold(props.path ?? []) }
    this.element = { current: null }
  }

  componentDidMount () {
    if (this.props.path) document.getElementById(`node-${this.state.focused}`)?.scrollIntoView({ block: 'center' })
  }

  /** @param {string[]} path of keys @returns {string} the id of the value there */
  unfold (path) {
    let { value } = this.props
    let id = '0'
    for (const key of path) {
      const index = isParent(value) ? Object.keys(value).indexOf(key) : -1
      if (index === -1) break
      this.isUnfolded.set(id, true)
      this.shown.set(id, Math.max(STEP, index + 1))
      id = `${id}.${index}`
      value = value[key]
    }
    return id
  }

  isOpen (node) {
    return this.isUnfolded.get(node.id) ?? node.level <= UNFOLDED
  }

  /** @returns {Node[]} what is seen, in order; without recursion, since values may be deep */
  nodes () {
    const result = []
    const waiting = [{ id: '0', key: null, value: this.props.value, level: 1, parent: null, isCut: this.props.isCut }]
    while (waiting.length > 0) {
      const node = waiting.pop()
      result.push(node)
      if (node.more !== undefined || !isParent(node.value) || !this.isOpen(node)) continue
      const keys = Object.keys(node.value)
      const shown = this.shown.get(node.id) ?? STEP
      const child = (more) => ({ key: null, value: null, level: node.level + 1, parent: node, isCut: false, ...more })
      if (keys.length > shown) waiting.push(child({ id: `${node.id}.more`, more: keys.length - shown }))
      for (let i = Math.min(shown, keys.length) - 1; i >= 0; i--) waiting.push(child({ id: `${node.id}.${i}`, key: keys[i], value: node.value[keys[i]], isCut: node.isCut && i === keys.length - 1 }))
    }
    return result
  }

  toggle (node, isOpen = !this.isOpen(node)) {
    if (node.more !== undefined) this.shown.set(node.parent.id, (this.shown.get(node.parent.id) ?? STEP) + STEP)
    else if (isParent(node.value)) this.isUnfolded.set(node.id, isOpen)
    this.setState({ focused: node.more === undefined ? node.id : node.parent.id })
  }

  onKey (event, nodes) {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const index = Math.max(0, nodes.findIndex(node => node.id === this.state.focused))
    const node = nodes[index]
    const go = (to) => this.setState({ focused: to.id }, () => document.getElementById(`node-${to.id}`)?.scrollIntoView({ block: 'nearest' }))
    const actions = {
      ArrowDown: () => go(nodes[Math.min(nodes.length - 1, index + 1)]),
      ArrowUp: () => go(nodes[Math.max(0, index - 1)]),
      ArrowRight: () => isParent(node.value) && !this.isOpen(node) ? this.toggle(node, true) : go(nodes[Math.min(nodes.length - 1, index + 1)]),
      ArrowLeft: () => isParent(node.value) && this.isOpen(node) ? this.toggle(node, false) : go(node.parent ?? node),
      Home: () => go(nodes[0]),
      End: () => go(nodes.at(-1)),
      Enter: () => this.toggle(node),
      ' ': () => this.toggle(node)
    }
    if (actions[event.key] === undefined) return
    event.preventDefault()
    event.stopPropagation()
    actions[event.key]()
  }

  render ({ label }, { focused }) {
    const nodes = this.nodes()
    return html`
      <div class="tree" role="tree" aria-label=${label} tabindex="0" ref=${this.element} aria-activedescendant=${`node-${focused}`} onKeyDown=${(event) => this.onKey(event, nodes)}>
        ${nodes.map(node => html`
          <div key=${node.id} id=${`node-${node.id}`} class=${node.id === focused ? 'node focused' : 'node'} role="treeitem" aria-level=${node.level}
            aria-expanded=${isParent(node.value) ? this.isOpen(node) : null} aria-selected=${node.id === focused}
            style=${{ paddingLeft: `${Math.min(node.level - 1, MAX_INDENT) * INDENT + 20}px` }} onClick=${() => this.toggle(node)}>
            ${isParent(node.value) && html`<span class="fold" aria-hidden="true">${this.isOpen(node) ? '▾' : '▸'}</span>`}
            ${node.more === undefined
              ? html`${node.key !== null && html`<span class="key">${visible(node.key)}</span>: `}${leaf(node.value, node.isCut)}`
              : html`<span class="more">${node.more} more …</span>`}
          </div>`)}
      </div>
      ${this.actions(nodes.find(node => node.id === focused))}`
  }

  /** What can be done with the focused value. @param {Node | undefined} node */
  actions (node) {
    const { onFilter, onColumn } = this.props
    if (onFilter === undefined || node === undefined || node.parent === null) return null
    const path = pathOf(node)
    const name = pathText(path)
    const condition = conditionOf(path, node.value)
    return html`
      <div class="actions" role="group" aria-label="With the selected value">
        <span class="mono">${visible(path.join('.'))}</span>
        <button disabled=${condition === null} onClick=${() => onFilter(condition)}>Only this value</button>
        <button disabled=${condition === null} onClick=${() => onFilter(`not ${condition}`)}>Exclude</button>
        <button disabled=${name === null} onClick=${() => onFilter(`${name} exists`)}>Exists</button>
        <button disabled=${name === null} onClick=${() => onColumn(name)}>As column</button>
      </div>`
  }
}

/** @param {Node} node @returns {string[]} keys */
function pathOf (node) {
  const path = []
  for (let at = node; at.parent !== null; at = at.parent) path.unshift(at.key)
  return path
}

const isParent = (value) => typeof value === 'object' && value !== null && !(value instanceof Exact)

function leaf (value, isCut) {
  if (Array.isArray(value)) return html`<span class="summary">[${isCut ? 'at least ' : ''}${value.length}]</span>`
  if (isParent(value)) return html`<span class="summary">{${isCut ? 'at least ' : ''}${Object.keys(value).length}}</span>`
  if (typeof value === 'string') return html`<span class="string">${visible(JSON.stringify(value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value))}</span>`
  if (value instanceof Exact) return html`<span class="number">${value.source}</span>`
  return html`<span class=${typeof value === 'number' ? 'number' : 'literal'}>${String(value)}</span>`
}
