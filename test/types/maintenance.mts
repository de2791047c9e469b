// The functions of maintenance, from an ES module.

import { verify, repair, restore, openOffsetMap, type Copied, type OffsetMap, type Progress, type Range, type Repaired, type Report, type Restored } from 'flumelog-random-access-file/maintenance'

const { signal } = new AbortController()
const onProgress = ({ step, bytes, total }: Progress) => console.log(step === 'check', bytes / total)

const report: Report = await verify('folder/log', { onProgress, signal })
const ranges: Range[] = report.valid ? [] : report.ranges
const records: number = report.counts.records + ranges.length

const repaired: Repaired = await repair('folder/log', { inPlace: true, onProgress, signal })
const name: string | null = repaired.file
const copied: Copied | null = repaired.copied
const lost: number | undefined = copied?.lost.length

const restored: Restored = await restore('folder/backup', 'folder/log', { force: true, onProgress, signal })
const isNew: boolean = !restored.replaced && restored.bytes + restored.start + restored.records > 0
const offsets: OffsetMap | null = await openOffsetMap('folder/log')
const movedTo: number | null = offsets === null || offsets.previousId === offsets.id ? null : await offsets.map(0)
await offsets?.close()

// @ts-expect-error no such option
await verify('folder/log', { salvage: true })
// @ts-expect-error no such option
await repair('folder/log', { inplace: true })
// @ts-expect-error it gives an object
await repair('folder/log', { onProgress: (bytes: number) => {} })
// @ts-expect-error no such step
onProgress({ step: 'read', bytes: 0, total: 0 })
