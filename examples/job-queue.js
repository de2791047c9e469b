'use strict'

// A job queue. The log contains the jobs; the cursor 'worker' says which of them are done, and where to resume after a
// crash. Jobs are processed at least once: if the worker is killed before it commits a job, the next one repeats it. Each
// run adds five jobs, and processes three.
//
//     npm install flumelog-random-access-file
//     node job-queue.js [FILE]

const fs = require('fs')
const os = require('os')
const path = require('path')
const { open } = require('flumelog-random-access-file/promises')

const codec = { encode: JSON.stringify, decode: JSON.parse, buffer: false }
const file = process.argv[2] ?? path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'job-queue-')), 'jobs')

async function main () {
  const jobs = await open(file, { codec })
  await jobs.append(['wash', 'rinse', 'dry', 'iron', 'fold'].map(task => ({ task })))
  await work(jobs.cursor('worker'), 3)
  await jobs.close()
}

async function work (cursor, limit) {
  for await (const { seq, value: { task } } of cursor.stream({ limit })) {
    console.log(`job ${seq}: ${task}`)
    await cursor.commit(seq)
  }
}

main()
