// The JSON interface of the server: README.md, "The interface".

import { parseExact } from './exact.js'
import { askTabs, tokenHeaders, tokenParameter } from './token.js'

/** @param {Record<string, any>} params those that are null, undefined or empty are left out */
export function address (path, params = {}) {
  const given = Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== '')
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
  return `api/${path}${given.length > 0 ? `?${query}` : ''}`
}

/** What is answered as a file. */
const DOWNLOAD = 'download'

/** The address of a download. @param {string} path @param {Record<string, any>} params */
export const downloadAddress = (path, params) => address(path, { ...params, ...tokenParameter() })

/** Aborted when the page is left: a browser that keeps it for its Back button would keep its connections, too. */
const leaving = new window.AbortController()
window.addEventListener('pagehide', () => leaving.abort())

/**
 * @param {string} path
 * @param {Record<string, any>} [params]
 * @param {AbortSignal} [signal]
 */
export async function get (path, params, signal) {
  const response = await answered(path, params, 'application/json', signal)
  return response.json()
}

/** The same, with numbers that JavaScript would round as they are written. */
export async function getExact (path, params, signal) {
  const response = await answered(path, params, 'application/json', signal)
  return parseExact(await response.text())
}

/**
 * Reads server-sent events until the server ends them.
 * @param {string} path
 * @param {Record<string, any>} params
 * @param {Record<string, (data: any) => void>} handlers by the event's name
 * @param {AbortSignal} signal
 */
export async function events (path, params, handlers, signal) {
  const response = await answered(path, params, 'text/event-stream', window.AbortSignal.any([signal, leaving.signal]))
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
async function answered (path, params, type, signal) {
  const response = await fetch(address(path, params), { signal, headers: tokenHeaders() }).catch(err => {
    throw isAborted(err) ? err : outage('The server does not answer: flumelog view may have been stopped.')
  })
  if (!response.ok) {
    const err = await errorOf(response)
    if (err.code === 'token' && await askTabs()) return answered(path, params, type, signal)
    throw err
  }
  // a login page, for example, to which the request was redirected
  const isExpected = type === DOWNLOAD ? response.headers.has('content-disposition') : response.headers.get('content-type')?.startsWith(type)
  if (!isExpected) throw outage('Another page has answered instead of the view. If you have to log in, do so in another tab.')
  window.dispatchEvent(new window.Event('answered'))
  return response
}

async function errorOf (response) {
  const { status } = response
  const { code, message } = await response.json().catch(() => ({ message: `The server has answered with status ${status}.${status === 401 ? ' If you have to log in, do so in another tab.' : ''}` }))
  return Object.assign(new Error(message), { code, isOutage: code === undefined || status >= 500 })
}

/** @param {string} message of an error that ends by itself */
const outage = (message) => Object.assign(new Error(message), { isOutage: true })

/** A request that was given up is not an error that anybody wants to see. */
export const isAborted = (err) => err.name === 'AbortError'

/** Whether the server could not be reached, or could not answer; not: what was asked for is wrong. */
export const isOutage = (err) => err.isOutage === true

/**
 * @param {string} path
 * @param {Record<string, any>} params
 * @param {number} most
 * @returns {Promise<Uint8Array>}
 */
export async function fetchBytes (path, params, most) {
  const stopping = new window.AbortController()
  const response = await answered(path, params, DOWNLOAD, stopping.signal)
  const pieces = []
  let size = 0
  const reader = response.body.getReader()
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    size += piece.value.length
    pieces.push(piece.value)
    if (size <= most) continue
    stopping.abort()
    throw new Error(`it has more than ${most / 1024 / 1024} MiB: save it instead`)
  }
  return new Uint8Array(await new window.Blob(pieces).arrayBuffer())
}
