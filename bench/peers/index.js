'use strict'

// What the log is measured beside. To add one, write a file like the others here
// and name it below. A peer's package is loaded in `open`, so that one that
// cannot be loaded spoils only its own rows.
//
// An adapter is an object:
//
//     name                    as it stands in the tables
//     package                 whose version the report names
//     kind                    'flumelog', or another way to store records
//     note                    what has to be known to judge its figures
//     cacheNote               what has to be known of its cache, where others are told how large theirs may be
//     isEarly                 it acknowledges before it has written
//     isVolatile              it stores nothing
//     canSync                 open(folder, { sync: true }) forces each append to the disk before it is acknowledged
//     create (folder)         a flumelog only: what its package gives
//     open (folder, options)  resolves to a store
//
// A store:
//
//     append (data, cb)     stores a Buffer; cb(err, key). It may call back at once
//     whole ()              only if it acknowledges before it has written: resolves when all is in its file
//     read (onValue)        resolves when onValue got all values in order; page cache warm, own cache empty
//     keys ()               resolves to the keys of all records
//     get (key, cb)         cb(err, value)
//     close ()              resolves when all is stored and nothing is left open

module.exports = [
  require('./ours'),
  require('./flumelog-offset'),
  require('./flumelog-aligned-offset'),
  require('./async-append-only-log'),
  require('./flumelog-memory'),
  require('./better-sqlite3'),
  require('./better-sqlite3-grouped'),
  require('./lmdb'),
  require('./classic-level'),
  require('./json-lines')
]
