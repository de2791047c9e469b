'use strict'

// The demo, as `node packages/browser/demo/demo.js` serves it.

const path = require('path')
const { spawn } = require('child_process')
const test = require('tape')
const { inBrowser } = require('./helpers/browser')

const DEMO = path.join(__dirname, '..', 'demo', 'demo.js')

/** @param {import('tape').Test} t @returns {Promise<string>} its address */
function startDemo (t) {
  const demo = spawn(process.execPath, [DEMO], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => demo.kill())
  return new Promise((resolve, reject) => {
    let text = ''
    demo.stdout.on('data', (data) => {
      text += data
      const address = /http:\S+\//.exec(text)
      if (address !== null) resolve(address[0])
    })
    demo.on('exit', code => reject(new Error(`the demo has ended: ${code}`)))
  })
}

/** In a page. */
const hasRole = (...roles) => roles.includes(document.querySelector('#role').textContent)
const shows = (text) => document.querySelector('ol').textContent.includes(text)
const append = (text) => {
  document.querySelector('form input').value = text
  document.querySelector('form').requestSubmit()
}

/**
 * Waits in front of the others: a tab in the background draws nothing.
 * @param {import('puppeteer-core').Page} tab
 * @param {(...args: any[]) => boolean} condition
 * @param {any[]} args
 */
async function until (tab, condition, ...args) {
  await tab.bringToFront()
  await tab.waitForFunction(condition, {}, ...args)
}

inBrowser(({ open }) => {
  test('tabs of the demo show what the others append, and one takes over when the owner is closed', async (t) => {
    const address = await startDemo(t)
    const tabs = [await open(`${address}tab.html`), await open(`${address}tab.html`)]
    for (const tab of tabs) await until(tab, hasRole, 'owner', 'client')
    for (const [i, tab] of tabs.entries()) {
      await tab.evaluate(append, `from ${i}`)
      for (const other of tabs) await until(other, shows, `from ${i}`)
    }
    const isOwner = await Promise.all(tabs.map(tab => tab.evaluate(hasRole, 'owner')))
    t.deepEqual([...isOwner].sort(), [false, true], 'one of them is the owner')
    const left = tabs[isOwner.indexOf(false)]
    await tabs[isOwner.indexOf(true)].close()
    await until(left, hasRole, 'owner')
    await left.evaluate(append, 'after the takeover')
    await until(left, shows, 'after the takeover')
    await until(left, () => document.querySelector('#records').textContent === '3')
    t.deepEqual(await left.evaluate(() => ['takeovers', 'problem'].map(id => document.querySelector(`#${id}`).textContent)), ['1', ''])
    await left.close()
    const frames = await open(address)
    await until(frames, () => document.querySelectorAll('iframe').length === 4)
    t.pass('the page of four tabs is there')
    await frames.close()
  })
})
