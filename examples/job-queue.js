'use strict'

// A job queue. One log holds the jobs, another the seqs of those that are done: its last
// record says where to go on, whatever became of the worker. A job may be done twice, if
// the worker is killed between doing it and saying so. Each run adds five jobs, and has
// time for three.
//
//     node examples/job-queue.js [FILE]

const fs = require('fs')
const os = require('os')
const path = require('path')
const { open } = require('../promises')

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

async function work (jobs, done, most) {
  for await (const { seq, value: { task } } of jobs.stream({ gt: await lastDone(done), limit: most })) {
    console.log(`job ${seq}: ${task}`)
    await done.append(seq, { sync: true })
  }
}

/** The seq of the last job that is done; -1 if none is. */
async function lastDone (done) {
  const last = done.flumelog.since.value
  return last === -1 ? -1 : done.get(last)
}

main()
