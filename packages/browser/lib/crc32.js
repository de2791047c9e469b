'use strict'

// CRC-32 (the one of zlib), for which browsers have no function: in WebAssembly, and by a table where a Content-Security-Policy without
// 'wasm-unsafe-eval' forbids that.

const POLYNOMIAL = 0xEDB88320
/** What ../crc32.wat compiles to, in Base64. */
const COMPILED = [
  'AGFzbQEAAAABCwJgAABgA39/fwF/AwMCAAEFAwEAAgcSAgZtZW1vcnkCAAVjcmMzMgABCAEACoIEAooBAQR/A0AgACEBQQAhAgNAIAFBAXZBACABQQFxa0GghuLtfnFzIQEg',
  'AkEBaiECIAJBCEkNAAsgAEECdCABNgIAIABBAWohACAAQYACSQ0AC0GACCEDA0AgA0GACGsoAgAhASADIAFBCHYgAUH/AXFBAnQoAgBzNgIAIANBBGohAyADQYCAAUkNAAsL',
  '8wIBBX8gAEF/cyEAIAEgAmohAwJAA0AgAUEQaiADSw0BIAAgASgCAHMhBCABKAIEIQUgASgCCCEGIAEoAgwhByAEQf8BcUECdCgCgHggBEEIdkH/AXFBAnQoAoBwcyAEQRB2',
  'Qf8BcUECdCgCgGhzIARBGHZBAnQoAoBgcyAFQf8BcUECdCgCgFhzIAVBCHZB/wFxQQJ0KAKAUHMgBUEQdkH/AXFBAnQoAoBIcyAFQRh2QQJ0KAKAQHMgBkH/AXFBAnQoAoA4',
  'cyAGQQh2Qf8BcUECdCgCgDBzIAZBEHZB/wFxQQJ0KAKAKHMgBkEYdkECdCgCgCBzIAdB/wFxQQJ0KAKAGHMgB0EIdkH/AXFBAnQoAoAQcyAHQRB2Qf8BcUECdCgCgAhzIAdB',
  'GHZBAnQoAgBzIQAgAUEQaiEBDAALCwJAA0AgASADTw0BIABBCHYgACABLQAAc0H/AXFBAnQoAgBzIQAgAUEBaiEBDAALCyAAQX9zCw=='
].join('')
/** Where that has the bytes. */
const BYTES_AT = 32768
const PIECE_SIZE = 65536

const table = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1
  return crc
})
const compiled = compile()
const memory = compiled && new Uint8Array(compiled.memory.buffer)

/** @returns {any} null: the page does not allow it */
function compile () {
  try {
    const code = Uint8Array.from(atob(COMPILED), character => character.charCodeAt(0))
    const { Module, Instance } = /** @type {any} */ (globalThis).WebAssembly
    return new Instance(new Module(code)).exports
  } catch {
    return null
  }
}

/**
 * @param {Uint8Array} bytes
 * @param {number} [before] CRC-32 of the bytes before them
 * @returns {number}
 */
function crc32 (bytes, before = 0) {
  if (memory === null) return crc32ByTable(bytes, before)
  let crc = before
  for (let start = 0; start < bytes.length; start += PIECE_SIZE) {
    const piece = bytes.length <= PIECE_SIZE ? bytes : bytes.subarray(start, start + PIECE_SIZE)
    memory.set(piece, BYTES_AT)
    crc = compiled.crc32(crc, BYTES_AT, piece.length)
  }
  return crc >>> 0
}

/** @type {(bytes: Uint8Array, before?: number) => number} the same */
function crc32ByTable (bytes, before = 0) {
  let crc = ~before
  for (let i = 0; i < bytes.length; i++) crc = table[(crc ^ bytes[i]) & 0xFF] ^ (crc >>> 8)
  return ~crc >>> 0
}

module.exports = { crc32, crc32ByTable }
