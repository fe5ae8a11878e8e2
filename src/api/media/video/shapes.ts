import { z } from 'zod'
import type { Gateway } from '../../../gateway/gateway.ts'
import { listContentUrls, type VideoUsage } from '../../../inference/video/record.ts'
import { openJobRequest, readSent, type VideoJob } from '../../../storage/video-jobs.ts'

const statuses = ['pending', 'in_progress', 'completed', 'failed', 'cancelled', 'expired'] as const

export const videoJobRecord = z
  .strictObject({
    id: z.string(),
    polling_url: z.string().describe('The path of the job in this API.'),
    status: z.enum(statuses),
    generation_id: z.string().optional().describe('Present once the job has been processed.'),
    unsigned_urls: z
      .array(z.string())
      .optional()
      .describe('The videos of a completed job: URLs of this API, which need the key.'),
    usage: z
      .strictObject({ cost: z.number().nullable(), is_byok: z.boolean() })
      .optional()
      .describe('What was charged, in USD, once the job is completed.'),
    error: z.string().optional(),
    model: z.string().describe('An extension.'),
    progress: z.int().min(0).max(100).describe('An extension: percent, as the provider reports it.'),
    workspace_id: z.string().describe('An extension.'),
    created_at: z.string().describe('An extension.'),
    ended_at: z.string().nullable().describe('An extension.'),
    expires_at: z.string().nullable().describe('An extension: when the videos are deleted.'),
  })
  .meta({ id: 'VideoGenerationJob' })

const openaiVideoRecord = z
  .strictObject({
    id: z.string(),
    object: z.literal('video'),
    status: z.enum(['queued', 'in_progress', 'completed', 'failed']),
    model: z.string(),
    progress: z.int(),
    prompt: z.string().nullable(),
    seconds: z.string(),
    size: z.string(),
    created_at: z.int(),
    completed_at: z.int().nullable(),
    expires_at: z.int().nullable(),
    remixed_from_video_id: z.null(),
    error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  })
  .meta({ id: 'OpenAIVideo' })

export const videoJobResponse = z.union([videoJobRecord, openaiVideoRecord])

/** A job, and what it cost once it is settled. */
export interface SettledJob {
  job: VideoJob
  usage: VideoUsage | null
}

export function toJobRecord(
  gateway: Gateway,
  { job, usage }: SettledJob,
  origin: string,
): z.input<typeof videoJobRecord> {
  const isCompleted = job.status === 'completed'
  return {
    id: job.id,
    polling_url: `/api/v1/videos/${job.id}`,
    status: job.status,
    ...(usage && { generation_id: job.generation_id }),
    ...(isCompleted && { unsigned_urls: listContentUrls(gateway, job, origin) }),
    ...(isCompleted && usage && { usage }),
    ...(job.error !== null && { error: job.error }),
    model: job.model,
    progress: progressOf(job),
    workspace_id: job.workspace_id,
    created_at: job.created_at,
    ended_at: job.ended_at,
    expires_at: job.content_expires_at,
  }
}

function progressOf({ status, progress }: VideoJob): number {
  return status === 'completed' ? 100 : progress
}

const openaiStatuses = {
  pending: 'queued',
  in_progress: 'in_progress',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'failed',
  expired: 'failed',
} as const satisfies Record<VideoJob['status'], string>

export function toOpenAiVideo({ vault }: Gateway, { job }: SettledJob): z.input<typeof openaiVideoRecord> {
  const { call } = openJobRequest(vault, job)
  const { duration, size } = readSent(job)?.chosen ?? call
  return {
    id: job.id,
    object: 'video',
    status: openaiStatuses[job.status],
    model: job.model,
    progress: progressOf(job),
    prompt: call.prompt === '' ? null : call.prompt,
    seconds: duration === null ? '' : String(duration),
    size: size ?? '',
    created_at: toUnix(job.created_at) ?? 0,
    completed_at: toUnix(job.ended_at),
    expires_at: toUnix(job.content_expires_at),
    remixed_from_video_id: null,
    error: job.error === null ? null : { code: `video_${job.status}`, message: job.error },
  }
}

function toUnix(time: string | null): number | null {
  return time === null ? null : Math.floor(Date.parse(time) / 1000)
}
