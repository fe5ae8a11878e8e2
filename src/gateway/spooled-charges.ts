import { existsSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { type Config, workerDir } from '../config.ts'
import { listSegmentFiles, segmentPath } from '../ledger/journal-segment.ts'
import { tryLockDataDir } from './data-dir.ts'

/** Charges in the journal of a node, and others that wait for the database. */
export const waitingFileNames = ['node', 'unsent'] as const

/** The directories of workers, of this start or an earlier one. */
export function listWorkerDirs(dataDir: string): string[] {
  const folder = join(dataDir, 'workers')
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).filter((name) => /^[1-9]\d{0,2}$/.test(name))
  return names.map((name) => workerDir(dataDir, Number(name))).filter((path) => existsSync(path))
}

/**
 * Moves charges that wait for the database to the directory of this process, from those that no process of this start
 * uses: the number of workers may have changed while the database was away.
 */
export function adoptSpooledCharges({ dataDir, nodeDir, workers }: Config, log: Logger): void {
  // One process does so.
  if ((workers.own ?? 1) !== 1) return
  const used = new Set(Array.from({ length: workers.count }, (_, at) => workerDir(dataDir, at + 1)))
  const worker = listWorkerDirs(dataDir).filter((folder) => workers.own === null || !used.has(folder))
  for (const folder of worker) {
    const unlock = tryLockDataDir(folder)
    // A process of an earlier start is still ending.
    if (!unlock) continue
    moveSpool(folder, nodeDir, log)
    unlock()
  }
  if (nodeDir !== dataDir) moveSpool(dataDir, nodeDir, log)
}

function moveSpool(from: string, to: string, log: Logger): void {
  for (const name of waitingFileNames) {
    for (const path of listSegmentFiles(join(from, name))) {
      renameSync(path, findUnusedPath(join(to, name)))
      log.warn({ path }, 'charges of another process are delivered by this one')
    }
  }
}

function findUnusedPath(basePath: string): string {
  for (let number = 1; ; number++) {
    const path = segmentPath(basePath, number)
    if (!existsSync(path)) return path
  }
}
