// The worker that a page starts.

import { serve } from './server.js'

serve(globalThis)
