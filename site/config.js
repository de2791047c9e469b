// The site is made from the Markdown files where they are. `BASE` is the path under which it will be served, `/` by default.

import { ROOT } from './pages.js'
import { nav, sidebar } from './navigation.js'
import { githubSlug, useLinksOfGitHub, useDiagrams } from './markdown.js'
import { checkLinks } from './check-links.js'

const base = `/${process.env.BASE ?? ''}/`.replace(/\/+/g, '/')
const ICON = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#3451b2"/><path d="M3 4h10M3 8h10M3 12h6" stroke="#fff" stroke-width="2"/></svg>'

export default {
  lang: 'en',
  title: 'flumelog',
  description: 'An embedded append-only log for Node.js',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
  base,
  srcDir: ROOT,
  srcExclude: ['site/*.md', '**/test/**'],
  outDir: 'dist',
  rewrites: page => page.replace(/README\.md$/, 'index.md').replace(/^site\/files\//, ''),
  markdown: {
    anchor: { slugify: githubSlug },
    languageAlias: { mjs: 'js', conf: 'ini' },
    config (md) {
      md.use(useLinksOfGitHub)
      md.use(useDiagrams)
    }
  },
  themeConfig: {
    nav,
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' }
  },
  buildEnd: ({ outDir }) => checkLinks(outDir, base),
  vite: { plugins: [{ name: 'vue-of-site', config: externalVue }] }
}

/** The pages are outside the folder that has Vue. On the server's side it is not bundled, but required from where the bundle is. */
function externalVue (_config, { isSsrBuild }) {
  return isSsrBuild ? { build: { rollupOptions: { external: ['vue', 'vue/server-renderer'] } } } : {}
}
