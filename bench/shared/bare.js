'use strict'

// The lower bound: see helpers/bare-socket.js.

const { bareOwner, bareClient, countRecords } = require('../helpers/bare-socket')

module.exports = {
  name: 'bare loop',
  note: 'a minimal loop that frames, writes a file and gathers acknowledgements: see bench/helpers/bare-socket.js',
  own: (folder, { gathers = true } = {}) => bareOwner(folder, gathers),
  open: (folder) => bareClient(folder),
  count: async (folder) => countRecords(folder)
}
