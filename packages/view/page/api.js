// The JSON interface of the server: docs/view.md.

/** @param {Record<string, any>} params those that are null, undefined or empty are left out */
export function address (path, params = {}) {
  const given = Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== '')
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
  return `api/${path}${given.length > 0 ? `?${query}` : ''}`
}

/** Aborted when the page is left: a browser that keeps it for its Back button would keep its connections, too. */
const leaving = new window.AbortController()
window.addEventListener('pagehide', () => leaving.abort())

/**
 * @param {string} path
 * @param {Record<string, any>} [params]
 * @param {AbortSignal} [signal]
 */
export async function get (path, params, signal) {
  const response = await answered(path, params, signal)
  return response.json()
}

/**
 * Reads server-sent events until the server ends them.
 * @param {string} path
 * @param {Record<string, any>} params
 * @param {Record<string, (data: any) => void>} handlers by the event's name
 * @param {AbortSignal} signal
 */
export async function events (path, params, handlers, signal) {
  const response = await answered(path, params, window.AbortSignal.any([signal, leaving.signal]))
  const reader = response.body.pipeThrough(new window.TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const messages = (rest + value).split('\n\n')
    rest = messages.pop()
    for (const message of messages) {
      const fields = message.split('\n').map(line => line.split(/: ?(.*)/s))
      const valueOf = (name) => fields.filter(field => field[0] === name).map(field => field[1]).join('\n')
      const name = valueOf('event')
      if (name === '') continue // a comment, to keep the connection open
      const data = JSON.parse(valueOf('data'))
      if (name === 'failed') throw Object.assign(new Error(data.message), { code: data.code })
      handlers[name]?.(data)
    }
  }
}

/** Tells the page when the server answers, so that what was wrong before is not shown any longer. */
async function answered (path, params, signal) {
  const response = await fetch(address(path, params), { signal }).catch(err => {
    throw isAborted(err) ? err : Object.assign(new Error('The server does not answer: flumelog view may have been stopped.'), { status: 503 })
  })
  if (!response.ok) throw await errorOf(response)
  window.dispatchEvent(new window.Event('answered'))
  return response
}

async function errorOf (response) {
  const { code, message } = await response.json().catch(() => ({ message: `the server answered ${response.status}` }))
  return Object.assign(new Error(message), { code, status: response.status })
}

/** A request that was given up is not an error that anybody wants to see. */
export const isAborted = (err) => err.name === 'AbortError'

/** Whether the server could not be reached, or could not answer; not: what was asked for is wrong. */
export const isOutage = (err) => err.status >= 500
