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
//     cachesAll               whether its cache grows without limit, so that no log is beyond it
//     canSync                 whether open(folder, { sync: true }) fsyncs each append before it is acknowledged
//     storedBy                the peer that stores in the same way, if it is another: they share inputs
//     create (folder, options)  only of flumelogs: returns what the package returns. options: { codec }
//     whole (log)             only of flumelogs that acknowledge before writing: resolves when the file is complete
//     isReady (log, cb)       only of flumelogs that open asynchronously: calls back once it is open
//     open (folder, options)  resolves to a store
//
// A store:
//
//     append (data, cb)     stores a Buffer; cb(err, key) may be called synchronously
//     whole ()              only if it acknowledges before writing: resolves when its file is complete
//     read (onValue)        resolves when onValue has been called with all values in order
//     keys ()               resolves to the keys of all records
//     get (key, cb)         cb(err, value)
//     fill (count, valueOf) only if it is faster than append: resolves when it has stored valueOf(0) to valueOf(count - 1)
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
