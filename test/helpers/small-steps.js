'use strict'

// Has compactions copy in small steps.

const { CompactedFile } = require('../../lib/space/compacted-file')
const { Compaction } = require('../../lib/space/compaction')
const { PieceReader } = require('../../lib/space/piece-reader')

CompactedFile.chunkSize = 2048
PieceReader.pieceSize = 4096
Compaction.syncStep = 8192
