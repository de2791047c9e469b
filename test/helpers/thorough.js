'use strict'

// Whether random tests repeat often, and tables of cases are tested in full: `node test/run.js --thorough`. Without it they
// take a few minutes together.

module.exports = { thorough: process.env.TEST_THOROUGH !== undefined }
