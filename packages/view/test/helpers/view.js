'use strict'

// Asks a view of a log as a browser does, and as others might.

const http = require('http')
const view = require('../..')

/**
 * @typedef {{ status: number, headers: http.IncomingHttpHeaders, text: string, json: any, events: Array<{ event: string, data: any }> }} Answered
 */

/**
 * @param {import('tape').Test} t it is closed when it ends
 * @param {any} log
 * @param {any} [options]
 */
async function viewOf (t, log, options) {
  const server = http.createServer(view(log, options))
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise(resolve => {
    server.close(resolve)
    server.closeAllConnections()
  }))
  const { port } = server.address()
  const get = (path, options) => ask(port, path, options)
  return {
    server,
    port,
    get,
    /** The answer of the interface. */
    api: async (path) => {
      const { status, json, text } = await get(`/api/${path}`)
      if (status !== 200) throw Object.assign(new Error(text), { status, code: json.code })
      return json
    },
    /** All events of a scan. */
    events: async (path) => (await get(`/api/${path}`)).events
  }
}

/**
 * @param {number} port
 * @param {string} path
 * @param {{ method?: string, headers?: object, agent?: http.Agent }} [options]
 * @returns {Promise<Answered>}
 */
function ask (port, path, { method = 'GET', headers = {}, agent } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port, path, method, headers, agent }, (response) => {
      const chunks = []
      response.on('data', chunk => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const type = response.headers['content-type'] ?? ''
        const json = type.startsWith('application/json') && text !== '' ? JSON.parse(text) : undefined
        resolve({ status: response.statusCode, headers: response.headers, text, json, events: type.startsWith('text/event-stream') ? eventsIn(text) : [] })
      })
    })
    request.on('error', reject)
    request.end()
  })
}

/** @param {string} text */
function eventsIn (text) {
  return text.split('\n\n').filter(part => part.startsWith('event:')).map(part => {
    const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(part)
    return { event, data: JSON.parse(data) }
  })
}

module.exports = { viewOf, ask }
