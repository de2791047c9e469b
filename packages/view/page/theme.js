// Dark and light: as the system says, or as chosen here.

const KEY = 'flumelog-view-theme'
export const THEMES = { auto: 'Auto', light: 'Light', dark: 'Dark' }

export function theme () {
  try {
    const stored = window.localStorage.getItem(KEY)
    return stored !== null && Object.hasOwn(THEMES, stored) ? stored : 'auto'
  } catch {
    return 'auto' // storage may be forbidden
  }
}

/** @param {string} name */
export function setTheme (name) {
  try {
    window.localStorage.setItem(KEY, name)
  } catch {}
  applyTheme(name)
}

export function applyTheme (name = theme()) {
  if (name === 'auto') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = name
  window.dispatchEvent(new window.Event('themechange'))
}

window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => window.dispatchEvent(new window.Event('themechange')))

/**
 * Colours of style.css, for canvases.
 * @param {string[]} names
 * @returns {Record<string, string>}
 */
export function palette (names) {
  const probe = document.createElement('span')
  document.body.append(probe)
  const result = {}
  for (const name of names) {
    probe.style.color = `var(--${name})`
    result[name] = window.getComputedStyle(probe).color
  }
  probe.remove()
  return result
}

/**
 * A canvas's context, scaled so that drawing is in pixels of the page, and sharp.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function contextOf (canvas, width, height) {
  const scale = window.devicePixelRatio || 1
  const [w, h] = [Math.round(width * scale), Math.round(height * scale)]
  if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h })
  canvas.style.width = `${width}px`
  canvas.style.height = `${height}px`
  const context = canvas.getContext('2d')
  context.setTransform(scale, 0, 0, scale, 0, 0)
  context.clearRect(0, 0, width, height)
  return context
}
