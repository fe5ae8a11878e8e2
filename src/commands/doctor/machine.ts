import { accessSync, constants, existsSync } from 'node:fs'
import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { readSnapshot } from '../../catalog/snapshot.ts'
import type { Config } from '../../config.ts'
import { readLatestTime } from '../../gateway/latest-time.ts'
import { type Db, isPostgres, isPostgresUrl, readDatabaseTime } from '../../platform/db/db.ts'
import { RemoteClock } from '../../platform/time/clock.ts'
import { type CheckResult, failed, passed, warned } from './check-result.ts'

/** As in the alert HeadgateClockSkew. */
const maxSkewMs = 5000
/** As in the alert HeadgateDiskFull, and what is little enough that the ledger may stop within minutes. */
const [lowShare, fullShare] = [0.1, 0.02]

const timeRemedy = 'Set the clock, and start its time service (see: timedatectl).'

/** `db` is null unless its tables can be read. */
export async function checkClock(db: Db | null, now = Date.now()): Promise<CheckResult[]> {
  const results: CheckResult[] = []
  const snapshotTime = Date.parse(readSnapshot().date)
  if (now < snapshotTime)
    results.push(
      failed(
        'clock',
        `The clock shows ${toText(now)}, which is before this version was released.`,
        timeRemedy,
      ),
    )
  if (db === null)
    return [...results, passed('clock', `The clock shows ${toText(now)}, compared with no other.`)]
  const offsetMs = isPostgres(db) ? await readOffset(db) : 0
  if (isPostgres(db)) results.push(describeOffset(offsetMs))
  const latest = await readLatestTime(db)
  const aheadMs = latest === null ? 0 : Date.parse(latest) - (now + offsetMs)
  if (aheadMs > maxSkewMs)
    results.push(
      failed(
        'clock',
        `The newest record is of ${latest}, ${Math.round(aheadMs / 1000)} s in the future: the clock was set back.`,
        timeRemedy,
      ),
    )
  else results.push(passed('clock', `The clock shows ${toText(now)}, and no record is of a later time.`))
  return results
}

async function readOffset(db: Db): Promise<number> {
  const clock = new RemoteClock()
  await clock.sync(() => readDatabaseTime(db))
  return clock.offsetMs
}

function describeOffset(offsetMs: number): CheckResult {
  const seconds = (Math.abs(offsetMs) / 1000).toFixed(3)
  const text = `The clock of this machine and that of PostgreSQL differ by ${seconds} s.`
  if (Math.abs(offsetMs) <= maxSkewMs) return passed('clock', text)
  return failed('clock', text, `${timeRemedy} Do so on both machines.`)
}

function toText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

/** The data directory, and the folder of a SQLite database elsewhere. */
export async function checkDisk({ dataDir, databaseUrl }: Config): Promise<CheckResult[]> {
  const folders = [dataDir, ...(isPostgresUrl(databaseUrl) ? [] : [dirname(databaseUrl)])]
  const results: CheckResult[] = []
  for (const folder of new Set(folders)) results.push(...(await checkFolder(folder)))
  return results
}

async function checkFolder(folder: string): Promise<CheckResult[]> {
  if (!existsSync(folder))
    return [passed('disk', `${folder} does not exist yet: the first start of the server creates it.`)]
  if (!(await stat(folder)).isDirectory())
    return [failed('disk', `${folder} is not a directory.`, 'Set HEADGATE_DATA_DIR to a directory.')]
  return [await measureSpace(folder), ...checkAccess(folder)]
}

function checkAccess(folder: string): CheckResult[] {
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return []
  } catch {
    return [
      failed(
        'disk',
        `This user cannot write to ${folder}.`,
        'Give the folder to the user that runs the server, and run this command as that user.',
      ),
    ]
  }
}

async function measureSpace(folder: string): Promise<CheckResult> {
  const { blocks, bavail, bsize, files, ffree } = await statfs(folder)
  return describeSpace(folder, {
    freeBytes: bavail * bsize,
    share: blocks === 0 ? 1 : bavail / blocks,
    // Some file systems have no fixed number of files.
    fileShare: files === 0 ? 1 : ffree / files,
  })
}

export interface Space {
  freeBytes: number
  /** Free shares of the bytes and of the number of files. */
  share: number
  fileShare: number
}

export function describeSpace(folder: string, { freeBytes, share, fileShare }: Space): CheckResult {
  const gib = (freeBytes / 2 ** 30).toFixed(1)
  const text = `${gib} GiB (${Math.floor(share * 100)} %) are free for ${folder}.`
  const remedy =
    'Enlarge the disk, store files and contents in a bucket (files.s3, records.contents), or shorten records.retention_days.'
  const least = Math.min(share, fileShare)
  if (least >= lowShare) return passed('disk', text)
  const message = share >= lowShare ? `${text} Hardly any more files can be created.` : text
  return least < fullShare ? failed('disk', message, remedy) : warned('disk', message, remedy)
}
