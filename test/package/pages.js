'use strict'

// What a newcomer reads and pastes: the package is packed and installed in an empty project, with no
// other packages than those that the page names, and each example of its pages is run there.
// The guides are followed step by step by guides.js.

const fs = require('fs')
const path = require('path')
const { spawnSync } = require('child_process')
const tape = require('tape')
const ts = require('typescript')
const { ROOT, name, packed, install } = require('../helpers/installed')
const { examplesIn } = require('../helpers/examples')
const { processFolder } = require('../helpers/folder')
const { exports: entries, scripts } = require('../../package.json')

/** Which test runs the code in each language; `null`: it is no code. */
const RUN_BY = {
  js: 'package/pages.js',
  mjs: 'package/pages.js', // in guides, as everything there: package/guides.js
  sh: 'package/pages.js',
  console: 'package/guides.js', // those of docs/command-line.md: bin/docs.js; that of README: package/pages.js
  diff: 'package/guides.js',
  ts: 'package/pages.js', // compiled by package/types.js
  hex: 'format/page.js',
  mermaid: null,
  ini: null, // a unit of systemd
  json: 'package/filters.js',
  text: null // grammars, file names; bundling: package/bundle.js; on docs/command-line.md programs that run until Ctrl-C; on docs/speed.md benchmarks, which take minutes
}

const folder = processFolder()
const { tarball } = packed()
/** Those in which the package is installed, by the names of the other packages in them. @type {Map<string, string>} */
const projects = new Map()
const pagesIn = (/** @type {string} */ folder) => fs.readdirSync(path.join(ROOT, folder)).filter(file => file.endsWith('.md')).map(file => path.posix.join(folder, file))
/** Pages for users of the core; the examples of packages are run by their tests. */
const documented = ['.', 'docs'].flatMap(pagesIn).filter(page => page !== 'CONTRIBUTING.md')
const guides = pagesIn('docs/guides')
/** Also those for its developers. */
const pages = [...documented, ...guides, 'CONTRIBUTING.md', ...['bench', ...fs.readdirSync(path.join(ROOT, 'packages')).map(name => `packages/${name}`)]
  .flatMap(pagesIn)]
const read = (/** @type {string} */ page) => fs.readFileSync(path.join(ROOT, page), 'utf8')

tape('README starts with how to install the package, and a program that needs no other and can be run again, and commands that read its file', (t) => {
  const [first, second] = blocksOf(read('README.md'))
  const commands = first.code.split('\n').map(line => line.replace(/ *#.*/, '')).filter(line => line !== '')
  t.deepEqual(commands.slice(0, 2), ['npm ci --ignore-scripts', 'npm pack'])
  t.equal(commands[2], `npm install ../path/to/${path.basename(tarball)}`, 'the tarball has this name')
  t.equal(second.language, 'mjs')
  const project = folderIn(projectWith([]))
  fs.writeFileSync(path.join(project, 'orders.mjs'), second.code)
  const run = () => start(project, process.execPath, ['orders.mjs']).stdout
  t.equal(run(), saidIn(second.code).map(line => `${line}\n`).join(''))
  t.match(read('README.md'), /Run it again, and it counts 2 orders/)
  t.equal(run(), 'tea\n2\n')
  const onItsFile = examplesIn(read('README.md'))
  t.ok(onItsFile.length > 0)
  for (const { command, output } of onItsFile) t.equal(start(project, 'bash', ['-c', `exec 2>&1; ${command}`]).stdout, output, command)
  t.end()
})

tape('README has at most 130 lines', (t) => {
  t.ok(read('README.md').split('\n').length <= 131)
  t.end()
})

for (const page of documented) {
  for (const { language, code, modules, line } of blocksOf(read(page)).filter(({ language }) => language === 'js')) {
    tape(`the example at ${page}:${line} runs as it stands in a project with ${['the package', ...modules].join(', ')}`, (t) => {
      const { status, stdout, stderr } = start(folderIn(projectWith(modules)), process.execPath, ['-e', code])
      t.equal(status, 0, stderr || 'it exits with code 0')
      const said = saidIn(code)
      t.ok(said.length > 0, `its comments say what it prints, in ${language}`)
      t.deepEqual(stdout.split('\n').slice(0, -1), said)
      t.end()
    })
  }
}

tape('the programs in TypeScript print what their comments say', (t) => {
  const programs = documented.flatMap(page => blocksOf(read(page))).filter(({ language }) => language === 'ts')
  t.ok(programs.length > 0)
  for (const { code } of programs) {
    const folder = folderIn(projectWith([]))
    const { outputText } = ts.transpileModule(code, { compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 } })
    fs.writeFileSync(path.join(folder, 'program.mjs'), outputText)
    const { stdout, stderr } = start(folder, process.execPath, ['program.mjs'])
    t.ok(saidIn(code).length > 0, 'they say something')
    t.deepEqual(stdout.split('\n').slice(0, -1), saidIn(code), stderr)
  }
  t.end()
})

/** See test/package/examples.js: it serves requests until Ctrl-C. */
const NOT_RUN_HERE = ['cluster.js']

for (const example of fs.readdirSync(path.join(ROOT, 'examples')).filter(example => !NOT_RUN_HERE.includes(example))) {
  tape(`examples/${example}, copied into a project, runs with the packages that it names at its top`, (t) => {
    const [, names] = /^\/\/ {5}npm install (.*)$/m.exec(read(`examples/${example}`)) ?? ['', '']
    const [own, ...modules] = names.split(' ')
    t.equal(own, name)
    const folder = folderIn(projectWith(modules))
    fs.copyFileSync(path.join(ROOT, 'examples', example), path.join(folder, example))
    const { status, stdout, stderr } = start(folder, process.execPath, [example], { TMPDIR: folder })
    t.equal(status, 0, stderr || 'it exits with code 0')
    t.notEqual(stdout, '', 'it prints something')
    t.end()
  })
}

tape('no two examples open the same file, so they can be pasted into one folder', (t) => {
  const files = documented.flatMap(page => blocksOf(read(page)).filter(({ language }) => ['js', 'mjs', 'ts'].includes(language))
    .flatMap(({ code }) => [...new Set([...code.matchAll(/\b(?:open|FlumeLog)\('([^']+)'/g)].map(match => match[1]))]))
  t.ok(files.length >= 10, files.join(', '))
  t.deepEqual(files.filter((file, index) => files.indexOf(file) !== index), [])
  t.end()
})

tape('every entry point has an example', (t) => {
  const examples = documented.flatMap(page => blocksOf(read(page))).filter(({ language }) => ['js', 'mjs'].includes(language)).map(({ code }) => code)
  for (const entry of Object.keys(entries).filter(entry => entries[entry].types !== undefined)) {
    t.ok(examples.some(code => code.includes(`require('${path.posix.join(name, entry)}')`)), entry)
  }
  t.end()
})

tape('every code block is run by a test, or is no code', (t) => {
  for (const page of [...documented, ...guides]) {
    const text = read(page)
    const others = blocksOf(text).filter(({ language }) => !(language in RUN_BY)).map(({ language, line }) => `${language} in line ${line}`)
    t.deepEqual(others, [], `${page} has only languages that are known`)
    t.notOk(/\n\n {4}\S/.test(text.replace(/^```[^]*?^```$/gm, '')), 'and no block without one')
    for (const { code } of blocksOf(text).filter(({ language }) => language === 'sh')) t.match(code.replace(/^#.*\n/gm, ''), /^(npm (install|ci|test|run|pack)\b.*\n)+$/, 'sh: npm alone')
  }
  t.end()
})

tape('every relative link in a page leads to a file of the repository, and to a heading there', (t) => {
  for (const page of pages) {
    const broken = []
    for (const [, target, anchor] of proseOf(read(page)).matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)]*))?\)/g)) {
      const file = target === '' ? page : path.posix.join(path.posix.dirname(page), target)
      const isThere = fs.existsSync(path.join(ROOT, file))
      if (!isThere) broken.push(target)
      else if (anchor !== undefined && !anchorsOf(read(file)).includes(anchor)) broken.push(`${target}#${anchor}`)
    }
    t.deepEqual(broken, [], page)
  }
  t.end()
})

tape('every script and every test file that a page names exists', (t) => {
  const tests = fs.readdirSync(path.join(ROOT, 'test'), { recursive: true, encoding: 'utf8' }).map(file => file.split(path.sep).join('/'))
  for (const page of pages) {
    const text = read(page)
    // of the package of that name, if it says --workspace
    const named = [...text.matchAll(/npm run (?:--silent )?([a-z][\w:]*)(?: --workspace flumelog-([\w-]+))?/g)]
    const isThere = ([, script, name]) => script in (name === undefined ? scripts : require(`../../packages/${name}/package.json`).scripts)
    t.deepEqual(named.filter(match => !isThere(match)).map(([text]) => text), [], `${page}: scripts`)
    const files = [...text.matchAll(/`test\/([\w/-]+js(?:on)?)`/g)].map(match => match[1])
    t.deepEqual(files.filter(file => !tests.includes(file)), [], `${page}: files in test/`)
  }
  t.end()
})

tape('README links every page in docs/, and pages link every example', (t) => {
  const linksOf = (/** @type {string} */ page) => [...read(page).matchAll(/\]\(([^)#\s]+)/g)].map(match => path.posix.join(path.posix.dirname(page), match[1]))
  const pageLinks = linksOf('README.md')
  t.deepEqual([...pagesIn('docs'), ...guides].filter(page => !pageLinks.includes(page)), [])
  const links = [...documented, ...guides].flatMap(linksOf)
  t.deepEqual(fs.readdirSync(path.join(ROOT, 'examples')).filter(file => !links.includes(`examples/${file}`)), [])
  t.end()
})

tape('the guarantees are on a page of at most 1,500 words', (t) => {
  t.ok(read('docs/reliability.md').trim().split(/\s+/).length <= 1500)
  t.end()
})

/**
 * @param {string} text Markdown
 * @returns {Array<{ language: string, code: string, line: number, modules: string[] }>} `modules`: the other packages that
 *   the text between the block before and this one says to install
 */
function blocksOf (text) {
  let end = 0
  return [...text.matchAll(/^ *```(\S*)\n([^]*?)^ *```$/gm)].map(({ 0: whole, 1: language, 2: code, index }) => {
    const before = text.slice(end, index)
    end = index + whole.length
    const modules = [...before.matchAll(/npm install ([^`\n]+)/g)].flatMap(match => match[1].split(' ')).filter(module => module !== name)
    return { language, code, line: text.slice(0, index).split('\n').length, modules }
  })
}

/** What a program prints, as its comments say. @param {string} code */
const saidIn = (code) => [...code.matchAll(/console\.log\(.* \/\/ (.*)$/gm)].flatMap(match => match[1].split(' / '))

/** @param {string} text without its code */
const proseOf = (text) => text.replace(/^```[^]*?^```$/gm, '').replace(/`[^`\n]*`/g, '')

/** The anchors that GitHub gives to headings. @param {string} text */
function anchorsOf (text) {
  return [...text.replace(/^```[^]*?^```$/gm, '').matchAll(/^#+ (.*)$/gm)]
    .map(([, heading]) => heading.toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, '').replace(/ /g, '-'))
}

/**
 * @param {string[]} modules
 * @returns {string} a project that has these and the package, and no others
 */
function projectWith (modules) {
  const names = modules.join(' ')
  if (!projects.has(names)) {
    projects.set(names, path.join(folder, String(projects.size)))
    install(tarball, projects.get(names), modules)
  }
  return projects.get(names)
}

/** @param {string} project @returns {string} an empty directory in it */
const folderIn = (project) => fs.mkdtempSync(path.join(project, 'example-'))

/**
 * @param {string} folder
 * @param {string} program
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env] additions
 */
function start (folder, program, args, env = {}) {
  return spawnSync(program, args, { cwd: folder, env: { ...process.env, LC_ALL: 'C', npm_config_loglevel: 'error', ...env }, encoding: 'utf8' })
}
