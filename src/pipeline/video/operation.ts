import { isActive, type VideoJob } from '../../account/video-jobs.ts'
import type { Gateway } from '../../app/gateway.ts'
import { encodeVideoOperation } from '../../dialects/gemini/video.ts'
import type { JsonObject } from '../../lib/json-values.ts'
import { resolvePublicUrl } from '../request/origin.ts'
import { listContentUrls } from './record.ts'

/** A job as an operation of the Gemini format. */
export function toVideoOperation(
  gateway: Gateway,
  job: VideoJob,
  request: Request,
): JsonObject & { name: string } {
  const isCompleted = job.status === 'completed'
  return encodeVideoOperation({
    id: job.id,
    model: job.model,
    progress: isCompleted ? 100 : job.progress,
    isDone: !isActive(job),
    error: isCompleted ? null : (job.error ?? `The job is ${job.status}.`),
    urls: isCompleted ? listContentUrls(gateway, job, resolvePublicUrl(gateway, request)) : [],
  })
}
