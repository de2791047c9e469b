// What GitHub does with Markdown, and VitePress does not.

import path from 'node:path'
import { renderMermaidSVG } from 'beautiful-mermaid'
import { ROOT, isFolder } from './pages.js'

/** The anchor that GitHub gives to a heading. @param {string} heading */
export const githubSlug = (heading) => heading.trim().toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, '').replaceAll(' ', '-')

/** Links lead to the pages that the site has for README.md files, folders and other files. @param {import('markdown-it')} md */
export function useLinksOfGitHub (md) {
  md.core.ruler.push('links_of_github', ({ tokens, env }) => {
    const folder = path.dirname(path.relative(ROOT, env.realPath ?? env.path))
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type !== 'link_open') continue
      const [, target, anchor] = /^([^#]*)(.*)$/.exec(token.attrGet('href'))
      if (target === '' || /^\w+:/.test(target)) continue
      token.attrSet('href', pageFor(target, isFolder(path.join(folder, target))) + anchor)
    }
  })
}

/** @param {string} target @param {boolean} isFolder */
function pageFor (target, isFolder) {
  if (isFolder) return `${target.replace(/\/$/, '')}/index.md`
  if (target.endsWith('.md')) return target.replace(/README\.md$/, 'index.md')
  return `${target}.md`
}

/** Diagrams are drawn, in the colours of the page. @param {import('markdown-it')} md */
export function useDiagrams (md) {
  const { fence } = md.renderer.rules
  md.renderer.rules.fence = (tokens, index, ...rest) => {
    const { info, content } = tokens[index]
    if (info.trim() !== 'mermaid') return fence(tokens, index, ...rest)
    const colours = { bg: 'var(--vp-c-bg)', fg: 'var(--vp-c-text-1)' }
    const svg = renderMermaidSVG(withNodesFirst(content), { ...colours, nodeSpacing: 12, layerSpacing: 28 }).replace(/@import url\([^)]*\);/, '')
    // as a value: a template may not contain the style that is in it
    return `<div class="diagram" v-html="${md.utils.escapeHtml(JSON.stringify(svg))}"></div>`
  }
}

/** The renderer knows the label of a node only from its first mention, and does not wrap lines. @param {string} diagram */
function withNodesFirst (diagram) {
  const nodes = [...diagram.matchAll(/\b[\w-]+\["[^"]*"\]/g)].map(([node]) => node.replace(/([^>"]{8,}?), /g, '$1,<br>'))
  return diagram.replace('\n', `\n${nodes.join('\n')}\n`)
}
