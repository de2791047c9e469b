'use strict'

// Has compactions copy in small steps.

const { CompactedFile } = require('../../lib/space/compacted-file')
const { Compaction } = require('../../lib/space/compaction')

CompactedFile.chunkSize = 2048
Compaction.pieceSize = 4096
Compaction.syncStep = 8192
