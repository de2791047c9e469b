// What is measured of each store, in a worker or on a page: appends, with 1, 16 and 1024 in flight, a stream of all records, and gets of random
// ones. `open` gives { append, count, stream, get, close }.

const RECORD_SIZE = 155
const DISTINCT = 1000
const SECOND = 1000
/** Milliseconds for which appends and gets are repeated. */
const TIME = 1500
const GETS = 100
/** Records of the log that is read. */
const RECORDS = 300000

function * recordsOf () {
  const encoder = new TextEncoder()
  const distinct = Array.from({ length: DISTINCT }, (_, n) => {
    const text = JSON.stringify({ n, type: 'post', text: Array.from({ length: 40 }, (_, i) => 'abcdefghijklmnopqrstuvwxyz'[n * (i + 7) % 26]).join('') })
    return encoder.encode(text.padEnd(RECORD_SIZE, ' '))
  })
  for (let n = 0; ; n++) yield distinct[n % DISTINCT]
}

function take (records, count) {
  return Array.from({ length: count }, () => records.next().value)
}

const rateOf = (count, started) => Math.round(count / (performance.now() - started) * SECOND)

/** Each group is in flight at once, and all of it is acknowledged before the next one. */
async function appends (open, inFlight) {
  const store = await open(`append-${inFlight}`)
  const records = recordsOf()
  await store.append(take(records, inFlight))
  const started = performance.now()
  let count = 0
  while (performance.now() - started < TIME) {
    await store.append(take(records, inFlight))
    count += inFlight
  }
  await store.written?.()
  const rate = rateOf(count, started)
  await store.close()
  return rate
}

export async function measure (open) {
  const figures = {}
  for (const inFlight of [1, 16, 1024]) figures[`append, ${inFlight} in flight`] = await appends(open, inFlight)
  let store = await open('read')
  const records = recordsOf()
  for (let count = 0; count < RECORDS; count += 1000) await store.append(take(records, 1000))
  await store.close()
  store = await open('read')
  const stream = async () => {
    const started = performance.now()
    const { count, bytes } = await store.stream()
    if (count !== RECORDS || bytes !== RECORDS * RECORD_SIZE) throw new Error(`${count} records of ${bytes} bytes`)
    return rateOf(count, started)
  }
  figures['stream, first pass'] = await stream()
  figures['stream, later pass'] = await stream()
  const keys = await store.keys()
  let random = 1
  const started = performance.now()
  let count = 0
  while (performance.now() - started < TIME) {
    for (let i = 0; i < GETS; i++) {
      random = (Math.imul(random, 1664525) + 1013904223) >>> 0
      const record = await store.get(keys[random % keys.length])
      if (record.length !== RECORD_SIZE) throw new Error(`${record.length} bytes`)
    }
    count += GETS
  }
  figures['random get'] = rateOf(count, started)
  await store.close()
  return figures
}
