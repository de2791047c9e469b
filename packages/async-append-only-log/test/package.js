'use strict'

require('../../../test/helpers/package-tests').testPackage('async-append-only-log', {})
