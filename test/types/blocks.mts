// The entries for programs around the log, from an ES module.

import FlumeLog from 'flumelog-random-access-file'
import { open } from 'flumelog-random-access-file/promises'
import { blocksOf, openBlocks, recordsOf, dataOf, files, CopiedLog, errors, chunk, layout, type Block, type Stored, type WriterState } from 'flumelog-random-access-file/blocks'
import { filterOf, decodeJson, finder, rowOf } from 'flumelog-random-access-file/json'
import { DirectLog, found, settingsOf } from 'flumelog-random-access-file/parts'
import { statSync } from 'node:fs'

const blocks = blocksOf(await open('log'))
await blocks.ready()
for await (const batch of blocks.scan({ from: blocks.start, reverse: true, signal: new AbortController().signal })) {
  for (const block of batch) {
    const { offset, buffer, end }: Block = block
    const reason: string | undefined = block.error?.reason
    for (const record of recordsOf(block)) {
      const { seq, kind, deleted }: Stored = record
      if (!deleted && kind === chunk.PLAIN) console.log(offset, seq, dataOf(record).length, buffer.length - end, reason)
    }
  }
}
const state: WriterState | null = await blocks.writerState()
const file = await openBlocks('log')
const size: number | undefined = (await file.torn())?.size
await files.placeFile('/log.unfinished', '/log', { given: 'log', like: statSync('log') })
const error: Error = errors.createError('flumelog:invalid', 'no')
const largest: number = layout.maxRecordSize(65536, true)

const data = Buffer.from('{}')
const passes: boolean = filterOf('a = 1', 'json').matches(decodeJson(data), data)
const value: string | undefined = finder('{}')(['a'])
const row: string = rowOf(['a', null])

const direct = await DirectLog.open('log', { blockSize: 4096 })
const seq: number = direct.append(direct.bytesOf('a'))
if (direct.cursor({ min: 0, max: seq }, () => {}).next() === found.RECORD) direct.log.close()

const limit: number = settingsOf({ codec: 'json' }).highWaterMark

const copied = new CopiedLog(await open('log'))
const last: number = await copied.append([copied.bytesOf('a')])
await copied.makeDurable(last)

// @ts-expect-error a log, not its name
blocksOf('log')
blocksOf(FlumeLog('log'))
// @ts-expect-error an offset is missing
blocks.scan({})
