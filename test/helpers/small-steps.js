'use strict'

// Has compactions copy in small steps.

const { Compaction } = require('../../lib/space/compaction')
const { PieceReader } = require('../../lib/space/piece-reader')

PieceReader.pieceSize = 4096
Compaction.syncStep = 8192
