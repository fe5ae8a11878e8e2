import type { Gateway } from '../../gateway/gateway.ts'
import type { Db } from '../../platform/db/db.ts'
import { usdFromNanos } from '../../platform/money/money.ts'
import { findJobCosts, openContents, type VideoJob } from '../../storage/video-jobs.ts'

export interface VideoUsage {
  cost: number
  is_byok: boolean
}

/** Finds the charge of a job in the ledger; null until it is settled, or if nothing reached a provider. */
export async function findJobUsage(db: Db, job: VideoJob): Promise<VideoUsage | null> {
  const cost = (await findJobCosts(db, [job.generation_id])).get(job.generation_id)
  return cost ? { cost: usdFromNanos(cost.cost_nanos), is_byok: cost.is_byok === 1 } : null
}

/** URLs of this API: they need the key, and so does everything else about the job. */
export function listContentUrls({ vault }: Gateway, job: VideoJob, site: string): string[] {
  return openContents(vault, job).map((_, index) => `${site}/api/v1/videos/${job.id}/content?index=${index}`)
}
