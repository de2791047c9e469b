// Which files are pages of the site.

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), '..')

/**
 * @param {string} folder relative to ROOT
 * @returns {string[]} the Markdown files in it and in its folders, README.md first; none if it does not exist
 */
export function pagesIn (folder) {
  if (!fs.existsSync(path.join(ROOT, folder))) return []
  const entries = fs.readdirSync(path.join(ROOT, folder), { withFileTypes: true })
  const names = entries.filter(entry => entry.isFile() && entry.name.endsWith('.md')).map(entry => entry.name)
  const folders = entries.filter(entry => entry.isDirectory() && !['node_modules', 'test'].includes(entry.name)).map(entry => entry.name)
  return [...names.sort((a, b) => Number(b === 'README.md') - Number(a === 'README.md') || a.localeCompare(b)).map(name => path.posix.join(folder, name)),
    ...folders.flatMap(name => pagesIn(path.posix.join(folder, name)))]
}

/** All pages. */
export const pages = [...fs.readdirSync(ROOT).filter(name => name.endsWith('.md')), ...['docs', 'bench', 'packages'].flatMap(pagesIn)]

/** @param {string} page */
export const read = (page) => fs.readFileSync(path.join(ROOT, page), 'utf8')

/**
 * Programs, the licence, folders: GitHub shows them if a page links to them, so they become pages of the site.
 *
 * @returns {string[]}
 */
export function linkedFiles () {
  const targets = pages.flatMap(page => [...withoutCode(read(page)).matchAll(/(?<!!\[[^\]]*)\]\((?!\w+:|#)([^)#\s]+)/g)]
    .map(([, target]) => path.posix.join(path.posix.dirname(page), target).replace(/\/$/, '')))
  return [...new Set(targets)].filter(file => !file.endsWith('.md') && fs.existsSync(path.join(ROOT, file)))
}

/** @param {string} text */
const withoutCode = (text) => text.replace(/^```[^]*?^```$/gm, '').replace(/`[^`\n]*`/g, '')

/** @param {string} file or folder, relative to ROOT */
export const isFolder = (file) => fs.statSync(path.join(ROOT, file), { throwIfNoEntry: false })?.isDirectory() ?? false
