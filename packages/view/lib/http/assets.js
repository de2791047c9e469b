'use strict'

// The files of the page.

const fs = require('fs')
const path = require('path')
const zlib = require('zlib')
const { promisify } = require('util')

const gzip = promisify(zlib.gzip)

const PAGE = path.join(__dirname, '..', '..', 'page')

/** Content types of the files that are served; no others are. @type {Record<string, string>} */
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml'
}

/**
 * Libraries of the page, and where they are in node_modules of a checkout: `build.js` puts them into `page/vendor/`.
 * @type {Record<string, string>}
 */
const VENDOR = {
  'preact.js': 'htm/preact/standalone.module.js',
  'uplot.js': 'uplot/dist/uPlot.iife.min.js',
  'uplot.css': 'uplot/dist/uPlot.min.css'
}

/** Files of the page, listed when the first is asked for. @type {string[] | undefined} */
let own

/** @typedef {{ type: string, content: Buffer, zipped: Buffer }} Asset zipped: by gzip */

/** What has been served, by name. @type {Map<string, Asset>} */
const served = new Map()

/**
 * @param {string} name as in the address, such as `style.css`
 * @returns {Promise<Asset | null>} null: there is no such file
 */
async function assetOf (name) {
  // names are looked up in lists, so none can lead elsewhere
  own ??= fs.existsSync(PAGE) ? fs.readdirSync(PAGE, { recursive: true, encoding: 'utf8' }).map(file => file.split(path.sep).join('/')) : []
  const type = TYPES[path.extname(name)]
  if (served.has(name)) return served.get(name) ?? null
  if (type === undefined) return null
  const file = own.includes(name) ? path.join(PAGE, name) : vendorFile(name)
  const content = file === null ? null : await fs.promises.readFile(file).catch(() => null)
  if (content === null) return null
  const asset = { type, content, zipped: await gzip(content) }
  served.set(name, asset)
  return asset
}

/** @param {string} name */
function vendorFile (name) {
  const [, vendored = ''] = /^vendor\/(.*)$/.exec(name) ?? []
  if (!Object.hasOwn(VENDOR, vendored)) return null
  return fileOf(VENDOR[vendored])
}

/**
 * @param {string} name of a file in node_modules of a checkout, by its path: what packages export leaves these files out
 * @returns {string}
 */
function fileOf (name) {
  return path.join(__dirname, '../../../../node_modules', name)
}

module.exports = { assetOf, fileOf, PAGE, VENDOR }
