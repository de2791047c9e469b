import { html } from './vendor/preact.js'

/**
 * Tabs that arrow keys move between.
 * @param {{ label: string, names: Record<string, string>, value: string, onChange: (key: string) => void, controls: string, disabled?: string[] }} props
 */
export function Tabs ({ label, names, value, onChange, controls, disabled = [] }) {
  const keys = Object.keys(names).filter(key => !disabled.includes(key))
  const onKeyDown = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const next = keys[(keys.indexOf(value) + step + keys.length) % keys.length]
    onChange(next)
    document.getElementById(`tab-${next}`).focus()
  }
  return html`
    <div class="tabs" role="tablist" aria-label=${label} onKeyDown=${onKeyDown}>
      ${Object.entries(names).map(([key, name]) => html`
        <button key=${key} role="tab" id=${`tab-${key}`} aria-selected=${key === value} aria-controls=${controls} disabled=${disabled.includes(key)}
          tabindex=${key === value ? 0 : -1} onClick=${() => onChange(key)}>${name}</button>`)}
    </div>`
}
