// In which order files run. Bun starts first what took longest, so another order is a file of other times.
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'

export function readTimings(path) {
  return JSON.parse(readFileSync(path, 'utf8')).files
}

/** A seed always leads to the same order. */
export function writeShuffled(path, files, seed) {
  const rank = (file) => createHash('sha256').update(`${seed} ${file}`).digest().readUInt32BE()
  writeTimes(path, Object.fromEntries(files.map((file) => [file, rank(file)])))
}

/**
 * Files that wait for other processes and files that compute, in the same proportion all the time: several that wait at
 * once would leave a core idle. The longest of each kind are first.
 */
export function writeMixed(path, files, timings, waits) {
  const groups = [files.filter(waits), files.filter((file) => !waits(file))]
  const placed = groups.flatMap((group) => placeByTime(group, timings)).sort((a, b) => a.begin - b.begin)
  writeTimes(path, Object.fromEntries(placed.map(({ file }, index) => [file, placed.length - index])))
}

/** Which part of the time of a group has passed when each of its files begins. */
function placeByTime(group, timings) {
  const timeOf = (file) => timings[file] || 1
  const total = group.reduce((sum, file) => sum + timeOf(file), 0)
  let passed = 0
  return group
    .toSorted((a, b) => timeOf(b) - timeOf(a))
    .map((file) => {
      const begin = passed / total
      passed += timeOf(file)
      return { file, begin }
    })
}

function writeTimes(path, files) {
  writeFileSync(path, JSON.stringify({ version: 1, files }))
}
