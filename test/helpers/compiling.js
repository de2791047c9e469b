'use strict'

// Compiles the programs of a project with a version of TypeScript.

const path = require('path')
const { spawnSync } = require('child_process')
const ts = require('typescript')

const TYPESCRIPT_7 = path.join(path.dirname(require.resolve('typescript-7/package.json')), 'bin', 'tsc')

/**
 * @typedef {{ module: string, moduleResolution: string, skipLibCheck: boolean }} Options as in a tsconfig.json
 */

/**
 * @param {string} project a directory with a tsconfig.json
 * @param {Options} options that replace those in it
 * @returns {{ program: ts.Program, problems: string }} empty if there are none
 */
function compileWith5 (project, options) {
  const { config } = ts.readConfigFile(path.join(project, 'tsconfig.json'), ts.sys.readFile)
  Object.assign(config.compilerOptions, options)
  const { fileNames, options: compilerOptions, errors } = ts.parseJsonConfigFileContent(config, ts.sys, project)
  const program = ts.createProgram(fileNames, compilerOptions)
  const host = { getCurrentDirectory: () => project, getCanonicalFileName: (/** @type {string} */ file) => file, getNewLine: () => '\n' }
  return { program, problems: ts.formatDiagnostics([...errors, ...ts.getPreEmitDiagnostics(program)], host) }
}

/**
 * @param {string} project a directory with a tsconfig.json
 * @param {Options} options that replace those in it
 * @returns {{ problems: string }} empty if there are none
 */
function compileWith7 (project, options) {
  const overrides = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
  const { status, stdout, stderr } = spawnSync(process.execPath, [TYPESCRIPT_7, '--project', '.', ...overrides], { cwd: project, encoding: 'utf8' })
  return { problems: status === 0 ? '' : stdout + stderr }
}

module.exports = { compileWith5, compileWith7 }
