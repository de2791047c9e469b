'use strict'

// The options of a view. Types only.

/**
 * @typedef {object} ReadCodec decodes records; a codec of a log is one
 * @property {(data: any) => unknown} decode given the bytes of a record, or with `buffer: false` its text
 * @property {boolean} [buffer] default true
 */

/**
 * @typedef {object} ViewOptions
 * @property {string} [prefix] path below which the viewer is mounted, such as `/log`; default: that of the router, or none
 * @property {string} [token] what a browser has to know: it is given `PREFIX/?token=TOKEN`, and sends it in the header `flumelog-token`. Default: none, so
 *   whoever reaches the server sees the log
 * @property {string[] | null} [hosts] names that lead to the server, as in the header `Host`, with or without a port; null: any, since the
 *   server has checked that. Default: names of this machine
 * @property {string} [encoding] `json`, `utf8` (or `text`), `hex`, `bipf`, `cbor` or `msgpack`; default: found by trying
 * @property {ReadCodec} [codec] decodes records; default: that of the log, if it has one
 * @property {(value: any) => number | Date | null | undefined} [time] gives the time of a record, in milliseconds since 1970 or as a Date; default:
 *   members such as `time` and `timestamp` are tried
 * @property {number} [maxScans] filters, exports and counts that may run at a time; default 4
 */
