// In which order files run. Bun starts first what took longest, so a shuffled order is a file of other times.
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'

export function readTimings(path) {
  return JSON.parse(readFileSync(path, 'utf8')).files
}

/** A seed always leads to the same order. */
export function writeShuffled(path, files, seed) {
  const rank = (file) => createHash('sha256').update(`${seed} ${file}`).digest().readUInt32BE()
  const times = Object.fromEntries(files.map((file) => [file, rank(file)]))
  writeFileSync(path, JSON.stringify({ version: 1, files: times }))
}
