'use strict'

// The demo's records: two data sets of the package vega-datasets, in the order of time.

const fs = require('fs')
const path = require('path')

const FOLDER = path.join(path.dirname(require.resolve('vega-datasets')), '..', 'data')
/** The flights are of January to March 2001. The data says at what hour, not on which day. */
const FLIGHTS_DAY = Date.UTC(2001, 0, 1)
const HOUR = 60 * 60 * 1000

/** @returns {object[]} each with a `type` and a `timestamp` in milliseconds */
function readRecords () {
  const flights = load('flights-200k.json').map(flightRecord)
  const quakes = load('earthquakes.json').features.map(quakeRecord)
  return flights.concat(quakes).sort((a, b) => a.timestamp - b.timestamp)
}

const load = (name) => JSON.parse(fs.readFileSync(path.join(FOLDER, name), 'utf8'))

/** Hours, whole minutes of them; delay in minutes; distance in miles. */
function flightRecord ({ time, delay, distance }) {
  return { type: 'flight', timestamp: Math.round(FLIGHTS_DAY + time * HOUR), delay, distance }
}

/** Most are earthquakes; the data's own type says which are explosions. */
function quakeRecord ({ properties, geometry }) {
  const { type, time, mag, place, ...others } = properties
  return { type, timestamp: time, magnitude: mag, place, coordinates: geometry.coordinates, ...others }
}

module.exports = { readRecords }
