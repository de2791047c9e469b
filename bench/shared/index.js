'use strict'

// The stores that several processes write at the same time. The package of a store is loaded where it is opened.
//
// An adapter is an object:
//
//     name                   as shown in tables
//     package                whose version the report gives
//     note                   what readers need to know to judge its figures
//     own (folder, options)  only if one process owns the store: resolves to { close }. Called in a process that does nothing
//                            else, before the others open the store
//     open (folder, number)  opens the store in the process with this number, counted from 0: resolves to a store
//     count (folder)         resolves to the number of records stored
//
// A store:
//
//     append (data, cb)         stores a Buffer; cb(err) may be called synchronously
//     appendBatch (values, cb)  stores an array of Buffers in one transaction; only of stores that are measured with batches
//     close ()                  resolves when everything is stored and closed

module.exports = {
  ours: require('./ours'),
  sqlite: require('./better-sqlite3'),
  lmdb: require('./lmdb'),
  rave: require('./rave-level'),
  bare: require('./bare')
}
