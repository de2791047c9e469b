'use strict'

// Which public members and options have no documentation for an editor to show? Goes over
// declarations from their exports on, through what is taken and returned.

const ts = require('typescript')

class Visit {
  /**
   * @param {ts.TypeChecker} checker
   * @param {(file: string) => boolean} isOwn whether a file is of the package: what others declare is theirs to document
   */
  constructor (checker, isOwn) {
    this.checker = checker
    this.isOwn = isOwn
    /** @type {Set<ts.Type>} */
    this.seen = new Set()
    /** @type {Set<string>} */
    this.documented = new Set()
    /** @type {Set<string>} */
    this.undocumented = new Set()
  }

  /**
   * @param {string} path the names that lead to it, for the report
   * @param {ts.Symbol} symbol
   */
  exported (path, symbol) {
    const { checker } = this
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
    if (target.flags & ts.SymbolFlags.Value) {
      const type = checker.getTypeOfSymbol(target)
      if (target.flags & ts.SymbolFlags.Class) this.check(path, target)
      else this.checkSignatures(path, target, type)
      this.type(path, type)
    }
    if (target.flags & ts.SymbolFlags.Type) this.type(path, checker.getDeclaredTypeOfSymbol(target))
  }

  /**
   * @param {string} path
   * @param {ts.Type} type
   */
  type (path, type) {
    if (this.seen.has(type)) return
    this.seen.add(type)
    const { checker } = this
    if (type.isUnion()) return type.types.forEach(member => this.type(path, member))
    for (const argument of [...type.aliasTypeArguments ?? [], ...checker.getTypeArguments(/** @type {ts.TypeReference} */ (type)) ?? []]) this.type(path, argument)
    for (const signature of type.getCallSignatures()) this.signature(path, signature)
    for (const property of checker.getPropertiesOfType(type)) {
      if (property.declarations?.some(declaration => this.isOwn(declaration.getSourceFile().fileName))) this.member(`${path}.${property.name}`, property)
    }
  }

  /**
   * @param {string} path
   * @param {ts.Signature} signature
   */
  signature (path, signature) {
    for (const parameter of signature.getParameters()) this.type(`${path}(${parameter.name})`, this.checker.getTypeOfSymbol(parameter))
    this.type(`${path}()`, signature.getReturnType())
  }

  /**
   * @param {string} path
   * @param {ts.Symbol} member
   */
  member (path, member) {
    const type = this.checker.getNonNullableType(this.checker.getTypeOfSymbol(member))
    // a function beside the function that is exported
    if (member.flags & ts.SymbolFlags.Alias) return this.exported(path, member)
    if (member.flags & ts.SymbolFlags.Method) this.checkSignatures(path, member, type)
    else this.check(path, member)
    this.type(path, type)
  }

  /**
   * Each overload is shown by itself.
   * @param {string} path
   * @param {ts.Symbol} symbol
   * @param {ts.Type} type
   */
  checkSignatures (path, symbol, type) {
    const signatures = type.getCallSignatures()
    if (signatures.length === 0) return this.check(path, symbol)
    signatures.forEach((signature, index) => this.check(index === 0 ? path : `${path}, overload ${index + 1}`, signature))
  }

  /**
   * @param {string} path
   * @param {ts.Symbol | ts.Signature} shown
   */
  check (path, shown) {
    const hasText = ts.displayPartsToString(shown.getDocumentationComment(this.checker)).trim() !== ''
    const list = hasText ? this.documented : this.undocumented
    list.add(path)
  }
}

/**
 * @param {ts.Program} program
 * @param {Record<string, string>} entries the files of the declarations, by name
 * @param {(file: string) => boolean} isOwn
 * @returns {{ documented: string[], undocumented: string[] }}
 */
function documentationOf (program, entries, isOwn) {
  const visit = new Visit(program.getTypeChecker(), isOwn)
  for (const [name, file] of Object.entries(entries)) {
    const module = visit.checker.getSymbolAtLocation(/** @type {ts.SourceFile} */ (program.getSourceFile(file)))
    const assigned = module.exports.get('export=')
    if (assigned !== undefined) visit.exported(name, assigned)
    for (const symbol of visit.checker.getExportsOfModule(module)) visit.exported(`${name} ${symbol.name}`, symbol)
  }
  return { documented: [...visit.documented], undocumented: [...visit.undocumented] }
}

module.exports = { documentationOf }
