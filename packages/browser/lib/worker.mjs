// The worker that a page starts.

import { serve } from './log.mjs'

serve(globalThis)
