// A log whose codec decodes buffers, and one without a codec.

import FlumeLog = require('flumelog-random-access-file')

interface Message { text: string }

const codec = { encode: (message: Message) => JSON.stringify(message), decode: (data: Buffer): Message => JSON.parse(data.toString()) }
const log = FlumeLog('log', { codec, sync: 'always' })
log.append({ text: 'hello' }, (err, seq) => {
  if (!err) log.get(seq, (err, message) => console.log(err, message.text.length))
})
log.search((message, seq) => message.text.length + seq, (err, seq) => console.log(err, seq))
log.stream({ gt: 0, reverse: true, limit: 5 })
const bare = FlumeLog('bare', { readOnly: true })
bare.get(0, (err, data) => console.log(err, data.readUInt8(0)))
// @ts-expect-error no such time to sync
FlumeLog('log', { sync: 'sometimes' })
// @ts-expect-error not what the codec encodes
log.append({ title: 'hello' })
