'use strict'

// The files of the page.

const fs = require('fs')
const path = require('path')

const PAGE = path.join(__dirname, 'page')

/** Content types of the files that are served; no others are. @type {Record<string, string>} */
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml'
}

/**
 * Libraries of the page, and where they are in node_modules of a checkout: `build.js` puts them into `page/vendor/` of the package.
 * @type {Record<string, string>}
 */
const VENDOR = {
  'preact.js': 'htm/preact/standalone.module.js',
  'uplot.js': 'uplot/dist/uPlot.iife.min.js',
  'uplot.css': 'uplot/dist/uPlot.min.css'
}

/** Files of the page, listed when the first is asked for. @type {string[] | undefined} */
let own

/**
 * @param {string} name as in the address, such as `style.css`
 * @returns {Promise<{ type: string, content: Buffer } | null>} null: there is no such file
 */
async function assetOf (name) {
  // names are looked up in lists, so none can lead elsewhere
  own ??= fs.existsSync(PAGE) ? fs.readdirSync(PAGE, { recursive: true, encoding: 'utf8' }).map(file => file.split(path.sep).join('/')) : []
  const type = TYPES[path.extname(name)]
  if (type === undefined) return null
  const file = own.includes(name) ? path.join(PAGE, name) : vendorFile(name)
  const content = file === null ? null : await fs.promises.readFile(file).catch(() => null)
  return content === null ? null : { type, content }
}

/** @param {string} name */
function vendorFile (name) {
  const [, vendored = ''] = /^vendor\/(.*)$/.exec(name) ?? []
  if (!Object.hasOwn(VENDOR, vendored)) return null
  const [module] = VENDOR[vendored].split('/')
  try {
    const folder = path.dirname(require.resolve(`${module}/package.json`))
    return path.join(folder, VENDOR[vendored].slice(module.length + 1))
  } catch {
    return null
  }
}

module.exports = { assetOf, PAGE, VENDOR }
