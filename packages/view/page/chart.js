// uPlot, in the page's colours. It is loaded when a chart is shown first.

import { Component, html } from './vendor/preact.js'
import { palette } from './theme.js'

let loading = null

/** @returns {Promise<any>} */
function load () {
  loading ??= new Promise((resolve, reject) => {
    const style = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: 'vendor/uplot.css' })
    const script = Object.assign(document.createElement('script'), { src: 'vendor/uplot.js' })
    script.onload = () => resolve(window.uPlot)
    script.onerror = () => reject(new Error('vendor/uplot.js cannot be loaded'))
    document.head.append(style, script)
  })
  return loading
}

/** Props: `options(colours, uPlot)` of uPlot, without the size; `data`; `height`; `label`, in words what is seen. */
export class Chart extends Component {
  constructor (props) {
    super(props)
    this.box = { current: null }
    this.make = () => this.draw()
  }

  componentDidMount () {
    window.addEventListener('themechange', this.make)
    this.observer = new window.ResizeObserver(() => this.plot?.setSize(this.size))
    this.observer.observe(this.box.current)
    this.draw()
  }

  componentDidUpdate ({ data }) {
    if (data !== this.props.data) this.plot?.setData(this.props.data)
  }

  componentWillUnmount () {
    window.removeEventListener('themechange', this.make)
    this.observer.disconnect()
    this.plot?.destroy()
    this.plot = null
    this.box.current = null
  }

  get size () {
    return { width: Math.max(100, this.box.current.clientWidth), height: this.props.height }
  }

  async draw () {
    const UPlot = await load().catch(err => this.props.onError(err))
    if (UPlot === undefined || this.box.current === null) return
    this.plot?.destroy()
    const colours = palette(['muted', 'line', 'accent', 'number', 'ink'])
    const axis = (more) => ({ stroke: colours.muted, grid: { stroke: colours.line, width: 1 }, ticks: { stroke: colours.line, width: 1 }, font: '12px system-ui', ...more })
    this.plot = new UPlot({ ...this.size, ...this.props.options(colours, UPlot, axis) }, this.props.data, this.box.current)
  }

  render ({ label }) {
    return html`<div class="chart" role="img" aria-label=${label} ref=${this.box}></div>`
  }
}
