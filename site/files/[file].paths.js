import fs from 'node:fs'
import path from 'node:path'
import { ROOT, isFolder, linkedFiles, pages, read } from '../pages.js'

export default {
  paths: () => linkedFiles().map(file => isFolder(file)
    ? { params: { file: `${file}/index` }, content: folderPage(file) }
    : { params: { file }, content: filePage(file) })
}

/** @param {string} file */
function filePage (file) {
  return `# ${file}\n\n\`\`\`\`${path.extname(file).slice(1) || 'txt'}\n${read(file)}\`\`\`\`\n`
}

/** Lists what the site has of a folder. @param {string} folder */
function folderPage (folder) {
  const names = fs.readdirSync(path.join(ROOT, folder)).filter(name => pages.includes(`${folder}/${name}/README.md`) || linkedFiles().includes(`${folder}/${name}`))
  return `# ${folder}\n\n${names.map(name => `- [${name}](/${folder}/${name}${isFolder(`${folder}/${name}`) ? '/index' : ''}.md)`).join('\n')}\n`
}
