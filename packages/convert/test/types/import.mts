// The functions of import, from an ES module.

import { detectFormat, readRecords, importLog, openImportMap, exportLog, type Exported, type Format, type Imported, type Progress, type Torn } from 'flumelog-convert'

const { signal } = new AbortController()
const onProgress = ({ step, bytes, total }: Progress) => console.log(step === 'import', bytes / total)

const format: Format = await detectFormat('log.offset')
for await (const { offset, data, deleted } of readRecords('log.offset', { from: format, onTorn: ({ bytes }: Torn) => console.log(bytes), signal })) {
  const length: number | undefined = data?.length
  console.log(offset + 1, length, deleted === true)
}

const imported: Imported = await importLog('log.offset', 'log', { from: 'flumelog-offset', keepDeleted: true, skip: true, large: true, blockSize: 4096, onProgress, signal })
const rest: number = imported.records + imported.large + (imported.torn?.bytes ?? 0)
const names: Array<string | null> = [imported.map, imported.skippedFile]

const map = await openImportMap('log')
const seq: number | null = await map.mapOffset(rest)
await map.close()

const exported: Exported = await exportLog('log', 'rows.csv', { to: 'csv', fields: ['at', 'value.author'], onProgress, signal })
await exportLog('log', 'log.offset', { to: 'flumelog-offset' })

// @ts-expect-error no target
await importLog('log.offset')
// @ts-expect-error no such format
await importLog('log.offset', 'log', { from: 'xml' })
// @ts-expect-error no such option
await importLog('log.offset', 'log', { resume: true })
// @ts-expect-error the format is missing
await exportLog('log', 'log.offset', {})
// @ts-expect-error only looked up in it
map.map
