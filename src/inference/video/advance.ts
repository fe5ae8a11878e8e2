import type { VideoProgress } from '../../formats/call/video.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { toGatewayError } from '../../platform/errors/gateway-error.ts'
import { subsystemLog } from '../../platform/logging/subsystem-log.ts'
import { isoNow } from '../../platform/time/clock.ts'
import { DamagedJobError, updateHeldJob, type VideoJob } from '../../storage/video-jobs.ts'
import { UpstreamError } from '../failures/errors.ts'
import { storeVideo } from './content.ts'
import { endJob } from './end.ts'
import { type JobUpstream, LostCredentialError, openJobUpstream } from './upstream.ts'

/** Between two polls of a job: longer each time. */
const pollDelays = { firstMs: 2000, factor: 1.5, maxMs: 30_000 }
/** Polls of jobs that were created together are spread by this share. */
const jitter = 0.2

/** Advances a job. Never throws: a job that cannot be advanced now is tried again later. */
export async function advanceJob(gateway: Gateway, job: VideoJob): Promise<void> {
  try {
    await advance(gateway, job)
  } catch (error) {
    await postpone(gateway, job, error).catch((err: unknown) =>
      subsystemLog(gateway.log, 'inference').warn(
        { err, job: job.id, generationId: job.generation_id },
        'a video job could not be stored: it is tried again later',
      ),
    )
  }
}

async function advance(gateway: Gateway, job: VideoJob): Promise<void> {
  if (job.step !== 'sent') return endInterrupted(gateway, job)
  if (job.deadline_at < isoNow(gateway.clock)) {
    const message = 'The provider did not finish the video in time.'
    return endJob(gateway, job, { status: 'expired', message, code: 'expired' })
  }
  const upstream = await openJobUpstream(gateway, job)
  const progress = await upstream.poll()
  if (progress.status === 'completed') return complete(gateway, job, upstream, progress)
  if ('percent' in progress)
    return schedule(gateway, job, { status: progress.status, progress: clampPercent(progress.percent) })
  return endJob(gateway, job, { ...progress, code: `upstream_${progress.status}` })
}

/**
 * The process that created the job ended before a provider confirmed it. Its client has no id, and the provider may or may
 * not be making the video: it is neither submitted again nor charged.
 */
function endInterrupted(gateway: Gateway, job: VideoJob): Promise<void> {
  const message = 'The gateway was stopped before a provider confirmed the job. Create it again.'
  return endJob(gateway, job, { status: 'failed', message, code: 'interrupted' })
}

/** The video is stored before it is charged for. */
async function complete(
  gateway: Gateway,
  job: VideoJob,
  upstream: JobUpstream,
  progress: Extract<VideoProgress, { status: 'completed' }>,
): Promise<void> {
  const urls = progress.urls.slice(0, maxVideos)
  for (const [index, url] of urls.entries()) await storeVideo(gateway, job.id, index, upstream.download(url))
  await endJob(gateway, job, { ...progress, urls })
}

/** Videos stored for one job. */
const maxVideos = 8

function clampPercent(percent: number | null): number {
  return percent === null ? 0 : Math.min(99, Math.max(0, Math.floor(percent)))
}

/** A job that the provider does not know has failed; other errors may pass. */
const lostStatuses: ReadonlySet<number | null> = new Set([404, 410])

async function postpone(gateway: Gateway, job: VideoJob, error: unknown): Promise<void> {
  if (error instanceof LostCredentialError)
    return endJob(gateway, job, { status: 'failed', message: error.message, code: 'credential_deleted' })
  if (error instanceof DamagedJobError) {
    const message = 'What the gateway stored of the job is damaged. Create it again.'
    return endJob(gateway, job, { status: 'failed', message, code: 'unrecovered_checkpoint' })
  }
  const failure = error instanceof UpstreamError ? error.failure : null
  if (failure && lostStatuses.has(failure.status)) {
    const message = 'The provider does not have the video job, or its video, any more.'
    return endJob(gateway, job, { status: 'failed', message, code: 'upstream_failed' })
  }
  const { code } = toGatewayError(error)
  subsystemLog(gateway.log, 'inference').warn(
    {
      job: job.id,
      generationId: job.generation_id,
      kind: failure?.kind ?? code,
      status: failure?.status,
      err: failure ? undefined : error,
    },
    'a video job could not be advanced: it is tried again later',
  )
  await schedule(gateway, job, {})
}

async function schedule(
  gateway: Gateway,
  job: VideoJob,
  changes: Partial<Pick<VideoJob, 'status' | 'progress'>>,
): Promise<void> {
  const { db, node, clock } = gateway
  const { firstMs, factor, maxMs } = pollDelays
  const delay = Math.min(maxMs, firstMs * factor ** Math.min(job.polls, 20))
  const spread = delay * (1 + jitter * (2 * Math.random() - 1))
  await updateHeldJob(db, job.id, node.id, {
    ...changes,
    polls: job.polls + 1,
    due_at: new Date(clock.now() + spread).toISOString(),
    lease_owner: null,
    lease_until: null,
  })
}
