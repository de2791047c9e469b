'use strict'

// When preloaded, makes every fsync of the file fail that is the first argument of a command.

const fs = require('fs')

const { fdatasync } = fs

fs.fdatasync = (fd, cb) => {
  if (fs.fstatSync(fd).ino !== fs.statSync(process.argv[3]).ino) return fdatasync(fd, cb)
  process.nextTick(cb, Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO', errno: -5, syscall: 'fdatasync' }))
}
