'use strict'

// A view inside the servers that people have: Express, Fastify and Koa, behind compression.

const http = require('http')
const test = require('tape')
const compression = require('compression')
const express4 = require('express4')
const express5 = require('express')
const fastify = require('fastify')
const Koa = require('koa')
const FlumeLog = require('flumelog-random-access-file')
const view = require('..')
const { newFile } = require('../../../test/helpers/folder')
const { promises } = require('../../../test/helpers/promises')
const { ask } = require('./helpers/view')

const SEARCH = '?token=a-token-that-is-long'

/** By name: what makes a listener that shows a log at `/tools/log`. @type {Record<string, (log: any) => http.RequestListener | Promise<http.RequestListener>>} */
const FRAMEWORKS = {
  'Express 4': (log) => express4().use(compression({ threshold: 0 })).use('/tools/log', view(log)),
  'Express 5': (log) => express5().use(compression({ threshold: 0 })).use('/tools/log', view(log)),
  'a router of Express 5': (log) => express5().use('/tools', express5.Router().use('/log', view(log))),
  Fastify: async (log) => {
    const handler = view(log, { prefix: '/tools/log' })
    const app = fastify()
    const show = (/** @type {any} */ request, /** @type {any} */ reply) => {
      reply.hijack()
      handler(request.raw, reply.raw)
    }
    app.get('/tools/log', show)
    app.get('/tools/log/*', show)
    await app.ready()
    return (request, response) => app.routing(request, response)
  },
  Koa: (log) => {
    const handler = view(log, { prefix: '/tools/log' })
    return new Koa().use((context, next) => {
      if (!/^\/tools\/log(\/|$)/.test(context.path)) return next()
      context.respond = false
      handler(context.req, context.res)
    }).callback()
  }
}

for (const [name, listenerOf] of Object.entries(FRAMEWORKS)) {
  test(`in ${name}, the page and its interface are found, with and without the slash`, async (t) => {
    const log = promises(FlumeLog(newFile()))
    await log.append(Array.from({ length: 100 }, (_, i) => JSON.stringify({ i })))
    const server = http.createServer(await listenerOf(log.log))
    await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => new Promise(resolve => server.close(resolve)))
    const { port } = server.address()
    const headers = { 'accept-encoding': 'gzip' }
    const { status, headers: { location } } = await ask(port, `/tools/log${SEARCH}`)
    const target = new URL(location, `http://127.0.0.1:${port}/tools/log`)
    t.deepEqual([status, target.pathname, target.search], [302, '/tools/log/', SEARCH], 'the slash is added, and the rest of the address is kept')
    const page = await ask(port, '/tools/log/')
    t.equal(page.status, 200)
    t.match(page.text, /src="main\.js"/)
    t.equal((await ask(port, '/tools/log/main.js')).status, 200)
    t.equal((await ask(port, '/tools/log/api/log')).json.end, log.log.stats().size)
    t.equal((await ask(port, '/tools/other')).status, 404)
    const scan = await ask(port, '/tools/log/api/filter?q=i+%3D+5', { headers })
    t.equal(scan.headers['content-encoding'], undefined, 'events are not held back to be compressed')
    t.deepEqual([scan.events[0].event, scan.events.at(-1).event], ['hit', 'end'])
    await log.close()
  })
}
