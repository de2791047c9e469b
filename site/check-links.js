// Fails a build that has a link to a page, a file or a heading that is not there.

import fs from 'node:fs'
import path from 'node:path'

/**
 * @param {string} folder the built site
 * @param {string} base the path under which it will be served
 * @throws {Error} that names each dead link
 */
export function checkLinks (folder, base) {
  const files = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(file => file.split(path.sep).join('/'))
  const pages = new Map(files.filter(file => file.endsWith('.html')).map(file => [file, fs.readFileSync(path.join(folder, file), 'utf8')]))
  const links = []
  for (const [page, html] of pages) {
    for (const [, link] of html.matchAll(/<[a-z][^>]*?\s(?:href|src)="([^"]*)"/g)) {
      const { protocol, pathname, hash } = new URL(link.replaceAll('&amp;', '&'), `site:${base}${page}`)
      if (protocol !== 'site:') continue
      const file = pathname.startsWith(base) ? decodeURIComponent(pathname.slice(base.length)).replace(/(^|\/)$/, '$1index.html') : undefined
      const id = decodeURIComponent(hash.slice(1))
      if (!files.includes(file) || (id !== '' && !pages.get(file)?.includes(`id="${id}"`))) links.push(`${page}: ${link}`)
    }
  }
  const dead = [...new Set(links)]
  if (dead.length > 0) throw new Error(`${dead.length} dead ${dead.length === 1 ? 'link' : 'links'}:\n${dead.join('\n')}`)
}
