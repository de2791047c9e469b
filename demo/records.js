'use strict'

// The records of the demo: two data sets of the package vega-datasets, in chronological order.

const fs = require('fs')
const path = require('path')

const FOLDER = path.join(path.dirname(require.resolve('vega-datasets')), '..', 'data')
/** The flights are from January to March 2001. The data has the time of day, but not the date. */
const FLIGHTS_DAY = Date.UTC(2001, 0, 1)
const HOUR = 60 * 60 * 1000

/** @returns {object[]} each with a `type` and a `timestamp` in milliseconds */
function readRecords () {
  const flights = load('flights-200k.json').map(flightRecord)
  const quakes = load('earthquakes.json').features.map(quakeRecord)
  return flights.concat(quakes).sort((a, b) => a.timestamp - b.timestamp)
}

const load = (name) => JSON.parse(fs.readFileSync(path.join(FOLDER, name), 'utf8'))

/** `time` is in hours, at a resolution of minutes; `delay` in minutes; `distance` in miles. */
function flightRecord ({ time, delay, distance }) {
  return { type: 'flight', timestamp: Math.round(FLIGHTS_DAY + time * HOUR), delay, distance }
}

/** Most are earthquakes; `type` says which are explosions. */
function quakeRecord ({ properties, geometry }) {
  const { type, time, mag, place, ...others } = properties
  return { type, timestamp: time, magnitude: mag, place, coordinates: geometry.coordinates, ...others }
}

module.exports = { readRecords }
