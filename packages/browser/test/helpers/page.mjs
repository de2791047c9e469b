// What tests use in a page.

import * as flumelog from './index.mjs' // eslint-disable-line import/no-unresolved

/** For what another worker or tab has open that has just ended: on a busy machine, its handles may take long to be released. */
async function openReleased (...args) {
  for (;;) {
    try {
      return await flumelog.open(...args)
    } catch (err) {
      if (err.code !== 'flumelog:locked') throw err
    }
  }
}

globalThis.flumelog = { ...flumelog, openReleased }
