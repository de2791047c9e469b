'use strict'

// What bad clients send to the owner of a shared log: valid conversations with something
// changed at random.

const { hello, append, framed, del, sync, ping, bye, frame } = require('./raw-client')

const EXTREMES = [0, 1, 2, 0x7fff, 0xffff, 0x10000, 0xfffff, 0x100000, 0x1fffff, 0x7fffffff, 0x80000000, 0xffffffff]
/** Not where a record is: bad clients delete nothing of others. */
const FAR_AWAY = 2 ** 45

/** @param {ReturnType<typeof import('./random').randomFrom>} random */
function bytesOf (random, size) {
  const bytes = Buffer.alloc(size)
  for (let i = 0; i < size; i++) bytes[i] = random.below(256)
  return bytes
}

/** A record that no one takes for one of the test's own. */
function recordOf (random, size) {
  return bytesOf(random, size).fill(0xbd, 0, Math.min(size, 4))
}

/**
 * @param {ReturnType<typeof import('./random').randomFrom>} random
 * @param {Buffer} id
 * @param {number} count
 * @returns {Buffer[]} the frames of a client that keeps to the protocol
 */
function conversation (random, id, count) {
  const frames = [hello(id)]
  let number = 0
  while (frames.length < count - 1) {
    const kind = random()
    if (kind < 0.7) {
      const most = random() < 0.02 ? 2000 : 40
      const records = Array.from({ length: 1 + random.below(random() < 0.1 ? 20 : 3) }, () => recordOf(random, 1 + random.below(most)))
      const flags = random() < 0.9 ? 0 : random.below(4)
      if (random() < 0.05) number += random.below(10)
      // atomic batches have to fit into a block
      const allowed = framed(records).length < 4000 ? flags : flags & 1
      const after = random() < 0.05 ? random.below(1000) - 1 : null
      frames.push(append(number + 1, records, { answered: Math.max(0, number - 100), flags: after === null ? allowed : allowed | 4, after }))
      number += records.length
    } else if (kind < 0.8) frames.push(del(frames.length, FAR_AWAY + random.below(1000)))
    else if (kind < 0.85) frames.push(sync(frames.length))
    else frames.push(ping())
  }
  frames.push(random() < 0.5 ? bye() : ping())
  return frames
}

const CHANGES = {
  flip (frames, at, random) {
    const bytes = Buffer.from(frames[at])
    for (let i = random.below(4); i >= 0; i--) bytes[random.below(bytes.length)] ^= 1 << random.below(8)
    frames[at] = bytes
  },
  set (frames, at, random) {
    const bytes = Buffer.from(frames[at])
    const size = random.pick([1, 2, 4])
    if (bytes.length >= size) bytes.writeUIntLE(random.pick(EXTREMES) % 256 ** size, random.below(bytes.length - size + 1), size)
    frames[at] = bytes
  },
  length (frames, at, random) {
    const bytes = Buffer.from(frames[at])
    if (bytes.length >= 4) bytes.writeUInt32LE(random() < 0.5 ? random.pick(EXTREMES) : Math.max(0, bytes.length - 4 + random.below(9) - 4))
    frames[at] = bytes
  },
  type (frames, at, random) {
    const bytes = Buffer.from(frames[at])
    bytes[4] = random() < 0.5 ? random.below(8) : random.below(256)
    frames[at] = bytes
  },
  cut (frames, at, random) { frames[at] = frames[at].subarray(0, random.below(frames[at].length)) },
  repeat (frames, at) { frames.splice(at, 0, frames[at]) },
  swap (frames, at, random) {
    const other = random.below(frames.length);
    [frames[at], frames[other]] = [frames[other], frames[at]]
  },
  drop (frames, at) { frames.splice(at, 1) },
  insert (frames, at, random) { frames.splice(at, 0, bytesOf(random, random.below(random() < 0.1 ? 100_000 : 200))) },
  zeros (frames, at, random) { frames.splice(at, 0, Buffer.alloc(random.below(2000))) },
  splice (frames, at, random) {
    const other = random.pick(frames)
    frames[at] = Buffer.concat([frames[at].subarray(0, random.below(frames[at].length)), other.subarray(random.below(other.length))])
  },
  greet (frames, at, random) { frames.splice(at, 0, hello(bytesOf(random, 8), random.below(3))) },
  zeroRecord (frames, at, random) { frames[at] = append(1000 + at, [recordOf(random, 5), Buffer.alloc(1 + random.below(100))]) },
  count (frames, at, random) { frames[at] = append(1000 + at, [recordOf(random, 5)], { count: random.pick(EXTREMES) }) },
  number (frames, at, random) { frames[at] = append(2 ** random.below(54), [recordOf(random, 5)], { answered: 2 ** random.below(54) }) },
  tooLarge (frames, at, random) { frames[at] = append(1000 + at, [recordOf(random, 4083 + random.below(2000))], { flags: random.below(4) }) },
  atomic (frames, at, random) { frames[at] = append(1000 + at, Array.from({ length: 300 }, () => recordOf(random, 20)), { flags: 2 }) },
  large (frames, at, random) { frames[at] = frame(random.below(8), Buffer.alloc(2 ** 20 - 6 + random.below(4), 1)) },
  many (frames, at, random) { frames.splice(at, 0, ...Array.from({ length: 257 }, (_, i) => append(5000 + i, [recordOf(random, 1)], { answered: 0 }))) },
  requests (frames, at) { frames.splice(at, 0, Buffer.concat(Array.from({ length: 4097 }, (_, i) => sync(i)))) },
  afterBye (frames, at) { frames.splice(at, 0, bye()) }
}
/** Those that take long. */
const RARE = ['large', 'many', 'requests']

/**
 * @param {ReturnType<typeof import('./random').randomFrom>} random
 * @param {number} count
 * @returns {Buffer[]} what a bad client sends: all of it, one after the other
 */
function badConversation (random, count) {
  if (random() < 0.05) return Array.from({ length: count }, () => bytesOf(random, 1 + random.below(100)))
  const frames = conversation(random, bytesOf(random, 8), count)
  for (let i = random.below(4); i >= 0 && frames.length > 0; i--) {
    // the greeting should mostly stay
    const at = random() < 0.9 ? Math.min(1 + random.below(frames.length), frames.length - 1) : random.below(frames.length)
    const name = random.pick(Object.keys(CHANGES))
    if (RARE.includes(name) && random() < 0.9) continue
    CHANGES[name](frames, at, random)
  }
  return frames
}

module.exports = { badConversation, bytesOf }
