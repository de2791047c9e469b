// The same from an ES module.

import FlumeLog from 'flumelog-random-access-file'
import push, { type PushLog } from 'flumelog-random-access-file/push'

const log: PushLog = push(FlumeLog('folder/log'))
log.stream({ seqs: false }).pipe({ paused: false, write: (value) => value.readUInt8(0) })
// @ts-expect-error no such member
log.streams()
