// The worker that a page starts.

import { setFile } from './more.js'
import { serve } from './server.js'
// @ts-ignore: the build makes it
import { url, modules } from './common.js'

setFile(url, modules)
serve(globalThis)
