'use strict'

// The stores that the log is compared with. To add one, write a file like the others here,
// and list it below. The package of a peer is loaded in `open`, so a package that fails to
// load affects only its own rows.
//
// An adapter is an object:
//
//     name                    as shown in tables
//     package                 whose version the report gives
//     kind                    'flumelog', or another kind of store
//     note                    what readers need to know to judge its figures
//     cacheNote               the same about its cache, where cache sizes are configured
//     isEarly                 whether it acknowledges before writing
//     isVolatile              whether it stores nothing
//     canSync                 whether open(folder, { sync: true }) fsyncs each append before it is acknowledged
//     create (folder)         only of flumelogs: returns what the package returns
//     open (folder, options)  resolves to a store
//
// A store:
//
//     append (data, cb)     stores a Buffer; cb(err, key) may be called synchronously
//     whole ()              only if it acknowledges before writing: resolves when its file is complete
//     read (onValue)        resolves when onValue has been called with all values in order
//     keys ()               resolves to the keys of all records
//     get (key, cb)         cb(err, value)
//     close ()              resolves when everything is stored and closed

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
