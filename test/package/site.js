'use strict'

// The site that `npm run docs` builds, here for a folder of a server.

const fs = require('fs')
const path = require('path')
const { spawnSync } = require('child_process')
const { pathToFileURL } = require('url')
const tape = require('tape')
const { testFolder, processFolder } = require('../helpers/folder')

const SITE = path.join(__dirname, '..', '..', 'site')
const VITEPRESS = path.join(SITE, 'node_modules', 'vitepress', 'bin', 'vitepress.js')
const BASE = '/some/folder/'
/** `npm run docs` installs it; a machine with CI set has done so. */
const skip = !fs.existsSync(VITEPRESS) && !process.env.CI && 'site/node_modules is missing: npm run docs'

const load = (/** @type {string} */ name) => import(pathToFileURL(path.join(SITE, name)).href)

tape('the site has each page, and loads nothing from outside its folder', { skip }, async (t) => {
  const folder = path.join(processFolder(), 'site')
  const { status, stdout, stderr } = spawnSync(process.execPath, [VITEPRESS, 'build', '--outDir', folder], { cwd: SITE, env: { ...process.env, BASE }, encoding: 'utf8' })
  t.equal(status, 0, status === 0 ? 'no link is dead' : stdout + stderr)
  const { pages, linkedFiles } = await load('pages.js')
  const files = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(file => file.split(path.sep).join('/'))
  const expected = pages.map((/** @type {string} */ page) => page.replace(/README\.md$/, 'index.html').replace(/\.md$/, '.html'))
  t.ok(expected.length > 20 && linkedFiles().includes('examples'))
  t.deepEqual(expected.filter((/** @type {string} */ page) => !files.includes(page)), [])
  for (const page of expected) {
    const html = fs.readFileSync(path.join(folder, page), 'utf8')
    const loaded = [...html.matchAll(/<(?:script|img|link)\b[^>]*?\s(?:src|href)="(?!data:)([^"]*)"/g)].map(match => match[1])
    t.deepEqual(loaded.filter(url => !url.startsWith(BASE)), [], page)
  }
  const index = files.find(file => file.includes('localSearchIndex'))
  const { default: search } = await import(pathToFileURL(path.join(folder, index)).href)
  const found = Object.values(JSON.parse(search).documentIds).map(id => id.replace(/#.*/, ''))
  const notFound = expected.map((/** @type {string} */ page) => BASE + page.replace(/index\.html$/, '')).filter((/** @type {string} */ page) => !found.includes(page))
  t.deepEqual(notFound, [], 'the search knows each page')
})

tape('a link to a page, a file or a heading that is not there fails the build, with its page', async (t) => {
  const { checkLinks } = await load('check-links.js')
  const file = testFolder(t)
  fs.mkdirSync(file('docs'))
  fs.writeFileSync(file('index.html'), '<h1 id="top">1</h1> <a class="a" href="./docs/page.html#part">2</a> <a href="/base/docs/page.html">3</a> <a href="https://example.com">4</a>')
  fs.writeFileSync(file('docs/page.html'), '<h2 id="part"><a href="#part">1</a></h2> <a href="../#top">2</a> <a href="../index.html">3</a>')
  checkLinks(file(''), '/base/')
  for (const link of ['other.html', './docs/page.html#other', '/docs/page.html', 'image.svg', '#other', 'docs/']) {
    fs.writeFileSync(file('front.html'), `<a href="index.html">1</a> <a href="${link}">2</a>`)
    t.throws(() => checkLinks(file(''), '/base/'), new RegExp(`1 dead link:\nfront.html: ${link.replace('.', '\\.')}$`), link)
  }
  t.end()
})
