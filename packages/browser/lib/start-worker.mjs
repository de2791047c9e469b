// @ts-nocheck
/* global Worker */

// In a form that bundlers know.
export const startWorker = () => new Worker(new URL('./worker.mjs', import.meta.url), { type: 'module', name: 'flumelog' })
