// The handler of view, from an ES module.

import { createServer } from 'node:http'
import FlumeLog from 'flumelog-random-access-file'
import { open } from 'flumelog-random-access-file/promises'
import view, { type ViewOptions } from 'flumelog-view'

const options: ViewOptions = { prefix: '/log', hosts: ['logs.example'], time: (value) => value.at, codec: { decode: (data) => String(data) } }
createServer(view(FlumeLog('log'), options))
createServer(view(await open('log', { codec: { encode: JSON.stringify, decode: JSON.parse, buffer: false } }), { encoding: 'json', hosts: null }))

// @ts-expect-error a port is not an option: the handler is put into a server
view(FlumeLog('log'), { port: 80 })
// @ts-expect-error a log, not its name
view('log')
