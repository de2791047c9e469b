// OPFS itself, in a worker: one write for all records that are in flight, reads of 64 KiB for a stream, and one read for each get. What a log
// that stores each record before it acknowledges it can reach at most with one append in flight.

const BLOCK_SIZE = 65536
const RECORD_SIZE = 155

export async function open (name) {
  const folder = await navigator.storage.getDirectory()
  const file = await folder.getFileHandle(`bench-opfs-${name}`, { create: true })
  const handle = await file.createSyncAccessHandle()
  let end = handle.getSize()
  return {
    append (records) {
      const bytes = new Uint8Array(records.length * RECORD_SIZE)
      records.forEach((record, i) => bytes.set(record, i * RECORD_SIZE))
      end += handle.write(bytes, { at: end })
    },
    stream () {
      let count = 0
      let bytes = 0
      const block = new Uint8Array(BLOCK_SIZE - BLOCK_SIZE % RECORD_SIZE)
      for (let at = 0; at < end; at += block.length) {
        const length = handle.read(block, { at })
        for (let start = 0; start < length; start += RECORD_SIZE) {
          bytes += block.subarray(start, start + RECORD_SIZE).length
          count++
        }
      }
      return { count, bytes }
    },
    keys: () => Array.from({ length: end / RECORD_SIZE }, (_, i) => i * RECORD_SIZE),
    get (at) {
      const record = new Uint8Array(RECORD_SIZE)
      handle.read(record, { at })
      return record
    },
    close: () => handle.close()
  }
}
