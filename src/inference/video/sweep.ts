import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Gateway } from '../../gateway/gateway.ts'
import { isoNow } from '../../platform/time/clock.ts'
import { deleteEndedJobs, expireContents, filterJobsWithContent } from '../../storage/video-jobs.ts'

export function resolveVideoFolder({ config }: Gateway): string {
  return join(config.dataDir, 'videos')
}

const namePattern = /^(video_[0-9a-f]+)-\d+\.mp4(\.part_[0-9a-f]+)?$/
/** Longer than a download takes. */
const abandonedAfterMs = 60 * 60 * 1000
const idsPerQuery = 500
const dayMs = 86_400_000

/** Deletes expired videos, what a crash left behind, and jobs as old as other records. */
export async function sweepVideos(gateway: Gateway): Promise<void> {
  const { db, clock, settings } = gateway
  while ((await expireContents(db, isoNow(clock), idsPerQuery)).length === idsPerQuery);
  const { retention_days: days } = settings.records
  if (days !== null) await deleteEndedJobs(db, new Date(clock.now() - days * dayMs).toISOString())
  const names = await readdir(resolveVideoFolder(gateway)).catch(() => [])
  for (let at = 0; at < names.length; at += idsPerQuery)
    await sweepFiles(gateway, names.slice(at, at + idsPerQuery))
}

async function sweepFiles(gateway: Gateway, names: string[]): Promise<void> {
  const files = names.flatMap((name) => {
    const [, id, part] = namePattern.exec(name) ?? []
    return id ? [{ name, id, isPartial: part !== undefined }] : []
  })
  const stored = await filterJobsWithContent(gateway.db, [...new Set(files.map(({ id }) => id))])
  for (const { name, id, isPartial } of files) {
    const path = join(resolveVideoFolder(gateway), name)
    const isAbandoned = isPartial ? await isOlder(gateway, path) : !stored.has(id)
    if (isAbandoned) await rm(path, { force: true })
  }
}

async function isOlder({ clock }: Gateway, path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => null)
  return stats !== null && clock.now() - stats.mtimeMs > abandonedAfterMs
}
