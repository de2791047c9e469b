'use strict'

// What the page says, and keeps, while something fails; and that it goes on by itself.

const fs = require('fs')
const test = require('tape')
const FlumeLog = require('flumelog-random-access-file')
const { viewer, inBrowser, record, numberOf, seen, shows, hasText } = require('./helpers/browser')
const { viewOf } = require('./helpers/view')
const { promises } = require('../../../test/helpers/promises')
const { testFolder } = require('../../../test/helpers/folder')
const { makeLog } = require('../../../test/helpers/logs')

/** By what happens: how requests are answered then, and what the page says. @type {Record<string, { answer: import('http').RequestListener, says: string }>} */
const FAILURES = {
  'the connection breaks': { answer: (_, response) => response.destroy(), says: 'The server does not answer' },
  'the session has ended': { answer: (_, response) => response.writeHead(401).end('who are you?'), says: 'status 401. If you have to log in' },
  'a login page answers': { answer: (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<form>'), says: 'Another page has answered' },
  'a proxy fails': { answer: (_, response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway'), says: 'status 502' }
}

inBrowser(({ visit }) => {
  for (const [name, { answer: fail, says }] of Object.entries(FAILURES)) {
    test(`while ${name}, rows stay, the page says what is wrong, and goes on when that is over`, async (t) => {
      const log = promises(FlumeLog(testFolder(t)('log')))
      await log.append(Array.from({ length: 500 }, (_, i) => JSON.stringify(record(i))))
      const { server, port } = await viewOf(t, log.log)
      const [answer] = /** @type {import('http').RequestListener[]} */ (server.listeners('request'))
      const answerWith = (/** @type {import('http').RequestListener} */ other) => server.removeAllListeners('request').on('request', other)
      const page = await visit(`http://127.0.0.1:${port}/`)
      await page.open()
      await page.until(shows, '"i":4,')
      answerWith(fail)
      await page.page.keyboard.press('G')
      await page.until(hasText, '[role=alert]', says)
      await page.until(hasText, '.status', 'not connected')
      t.equal(numberOf((await page.rows())[0]), 0, 'the rows are those of before')
      // without rows, it says that, too
      await page.fill('#filter', 'i > 490')
      await page.page.keyboard.press('Enter')
      await page.until(hasText, '.empty', says)
      answerWith(answer)
      await page.page.waitForSelector(seen)
      await page.until(shows, '"i":491,')
      await page.until(() => document.querySelector('[role=alert]') === null)
      t.pass('what was asked for comes when it can')
      await log.close()
    })
  }

  test('when the file of the log is moved, deleted or truncated, the page says so, and shows what is there then', async (t) => {
    const file = testFolder(t)
    const path = file('log')
    await makeLog(path, Array.from({ length: 100 }, (_, i) => JSON.stringify(record(i))))
    const page = await visit(await viewer(t, path))
    await page.open()
    await page.until(shows, '"i":4,')
    fs.renameSync(path, file('moved'))
    await page.until(hasText, '[role=alert]', 'the file was deleted or moved')
    await page.until(hasText, '.status', 'not connected')
    t.equal(numberOf((await page.rows())[0]), 0, 'rows stay')
    fs.renameSync(file('moved'), path)
    await page.until(() => document.querySelector('[role=alert]') === null && document.querySelector('.status').textContent.includes('live'))
    await makeLog(file('other'), Array.from({ length: 200 }, (_, i) => JSON.stringify(record(1000 + i))))
    for (const name of fs.readdirSync(file(''))) if (name.startsWith('log')) fs.rmSync(file(name))
    fs.renameSync(file('other'), path)
    await page.until(shows, '"i":1199,')
    await page.until(hasText, '[role=alert]', 'replaced')
    fs.truncateSync(path, fs.statSync(path).size / 2)
    await page.page.keyboard.press('G')
    await page.until(() => document.querySelector('.rows').textContent !== '' && !document.querySelector('.rows').textContent.includes('"i":1199,'))
    await page.until(hasText, '.status', 'live')
    t.pass('truncated, it shows what is left')
  })
})
