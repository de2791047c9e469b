'use strict'

// A job queue. One log contains the jobs, another the seqs of the jobs that are done: its
// last record says where to resume after a crash. Jobs are processed at least once: if the
// worker is killed before it records that a job is done, the next one repeats the job. Each
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
  const done = await open(file + '.done', { codec })
  await jobs.append(['wash', 'rinse', 'dry', 'iron', 'fold'].map(task => ({ task })))
  await work(jobs, done, 3)
  await jobs.close()
  await done.close()
}

async function work (jobs, done, limit) {
  for await (const { seq, value: { task } } of jobs.stream({ gt: await lastDone(done), limit })) {
    console.log(`job ${seq}: ${task}`)
    await done.append(seq, { sync: true })
  }
}

/** The seq of the last job done; -1 if there is none. */
async function lastDone (done) {
  const last = done.flumelog.since.value
  return last === -1 ? -1 : done.get(last)
}

main()
