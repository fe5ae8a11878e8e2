import { z } from 'zod'
import { resolvePublicUrl } from '../../../access/origin.ts'
import { resolveCoveredWorkspaces } from '../../../access/reachable-workspace.ts'
import { transact } from '../../../access/transact.ts'
import { videoFields } from '../../../catalog/declared-model.ts'
import { hasOutput, type Model } from '../../../catalog/model.ts'
import { chat } from '../../../formats/chat/chat.ts'
import { type VideoRequestBody, videoRequest } from '../../../formats/video/schema.ts'
import { defineOperation } from '../../../http/operation.ts'
import { inferenceErrors, inferenceHeaders } from '../../../inference/declarations.ts'
import { availabilityQuery, listReachableModels } from '../../../inference/plan/model-access.ts'
import { isVendorSdk } from '../../../inference/request/vendor-sdk.ts'
import { readVideo, removeVideos } from '../../../inference/video/content.ts'
import { createVideoJob } from '../../../inference/video/create.ts'
import { type JobContext, requireJob } from '../../../inference/video/find-job.ts'
import { findVideoWireFormat } from '../../../inference/video/problems.ts'
import { findJobUsage } from '../../../inference/video/record.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { queryInteger } from '../../../platform/validation/query-params.ts'
import { deleteVideoJob, isActive, listVideoJobs, type VideoJob } from '../../../storage/video-jobs.ts'
import { readVideoForm } from './form.ts'
import { geminiVideoOperations } from './gemini-operations.ts'
import { type SettledJob, toJobRecord, toOpenAiVideo, videoJobResponse } from './shapes.ts'

const tag = 'Video Generation'

const videoModel = z
  .strictObject({
    id: z.string(),
    canonical_slug: z.string(),
    name: z.string(),
    created: z.int(),
    description: z.string(),
    model_hub_id: z.string().nullable(),
    ...videoFields,
    allowed_passthrough_parameters: z.array(z.string()),
    pricing_skus: z
      .record(z.string(), z.string())
      .nullable()
      .describe('The price of each billed unit, in USD.'),
  })
  .meta({ id: 'VideoModel' })

const listVideoModels = defineOperation({
  id: 'listVideoModels',
  method: 'GET',
  path: '/videos/models',
  tag,
  summary: 'Lists the models that generate videos.',
  permission: 'models:read',
  query: z.object(availabilityQuery),
  response: z.strictObject({ data: z.array(videoModel) }),
  handle: async (context) => ({
    data: (await listReachableModels(context, context.query))
      .filter(context.query.include_unavailable ? producesVideo : canMakeVideos)
      .map((model) => toVideoModel(model)),
  }),
})

const jobParam = z.object({ jobId: z.string().min(1).max(64).describe('The id of the job.') })

const createVideo = defineOperation({
  id: 'createVideo',
  method: 'POST',
  path: '/videos',
  tag,
  summary: 'Creates a video job.',
  description:
    'The job is stored and its maximum cost is held before a provider is called. Poll it, or receive a webhook when it ends. The form of the OpenAI SDKs is accepted too.',
  permission: 'inference:write',
  inference: { encodeError: chat.client.encodeError, isCreation: true },
  headers: inferenceHeaders,
  body: videoRequest,
  rawBody: { contentType: 'multipart/form-data', schema: videoRequest },
  status: 202,
  errors: inferenceErrors,
  response: videoJobResponse,
  handle: async (context) => {
    const { gateway, httpRequest } = context
    const body: VideoRequestBody = context.body ?? (await readVideoForm(gateway, httpRequest))
    return createVideoJob(gateway, { ...context, body }, (job) => toShape(context, { job, usage: null }))
  },
})

const listVideos = defineOperation({
  id: 'listVideos',
  method: 'GET',
  path: '/videos',
  tag,
  summary: 'Lists video jobs, newest first.',
  permission: 'videos:read',
  query: z.object({
    after: z.string().min(1).max(64).optional().describe('The id of the last job on the previous page.'),
    limit: queryInteger({ min: 1, max: 100, fallback: 20 }),
    order: z.enum(['asc', 'desc']).optional(),
    workspace_id: z.uuid().optional().describe('An extension: only the jobs of this workspace.'),
  }),
  response: z.strictObject({
    object: z.literal('list'),
    data: z.array(videoJobResponse),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  }),
  handle: async (context) => {
    const { gateway, caller, query } = context
    const { after, limit, order = 'desc' } = query
    const workspaceIds = await resolveCoveredWorkspaces(gateway.db, context, query.workspace_id)
    const scope = { organizationId: caller.organizationId, workspaceIds }
    const rows = await listVideoJobs(gateway.db, scope, { after, limit: limit + 1, order })
    const page = rows.slice(0, limit)
    const data = await Promise.all(page.map((job) => loadShape(context, job)))
    return {
      object: 'list' as const,
      data,
      first_id: page[0]?.id ?? null,
      last_id: page.at(-1)?.id ?? null,
      has_more: rows.length > limit,
    }
  },
})

const getVideo = defineOperation({
  id: 'getVideo',
  method: 'GET',
  path: '/videos/{jobId}',
  tag,
  summary: 'Retrieves a video job.',
  permission: 'videos:read',
  params: jobParam,
  errors: [404],
  response: videoJobResponse,
  handle: async (context) => loadShape(context, await requireJob(context)),
})

const getVideoContent = defineOperation({
  id: 'getVideoContent',
  method: 'GET',
  path: '/videos/{jobId}/content',
  tag,
  summary: 'Downloads a video of a completed job.',
  description:
    'Supports requests for one range of bytes. Videos are deleted some time after the job has ended.',
  permission: 'videos:read',
  params: jobParam,
  query: z.object({
    index: queryInteger({ min: 0, max: 1000, fallback: 0 }),
    variant: z.literal('video').optional().describe('Only the video itself is stored.'),
  }),
  errors: [404, 409, 410, 416, 502],
  response: { contentType: 'video/mp4' },
  handle: async (context) =>
    readVideo(context.gateway, await requireJob(context), context.query.index, context.httpRequest),
})

const deleteVideo = defineOperation({
  id: 'deleteVideo',
  method: 'DELETE',
  path: '/videos/{jobId}',
  tag,
  summary: 'Deletes a video job that has ended, and its videos.',
  permission: 'videos:write',
  params: jobParam,
  errors: [404, 409],
  response: z.strictObject({ id: z.string(), object: z.literal('video.deleted'), deleted: z.literal(true) }),
  handle: async (context) => {
    const { gateway } = context
    const job = await requireJob(context)
    if (isActive(job))
      throw gatewayError('conflict', `The job is ${job.status}. A provider bills it, so wait until it ends.`)
    await transact(context, async (tx, record) => {
      await deleteVideoJob(tx, job.id)
      const { id, model, status, created_at, workspace_id: workspaceId } = job
      const target = { type: 'video_job', id, name: model }
      record({ action: 'video_job.delete', target, workspaceId, before: { model, status, created_at } })
    })
    await removeVideos(gateway, job)
    return { id: job.id, object: 'video.deleted' as const, deleted: true as const }
  },
})

export const videoOperations = [
  listVideoModels,
  createVideo,
  listVideos,
  getVideo,
  getVideoContent,
  deleteVideo,
  ...geminiVideoOperations,
]

async function loadShape(context: JobContext, job: VideoJob) {
  return toShape(context, { job, usage: await findJobUsage(context.gateway.db, job) })
}

function toShape({ gateway, httpRequest }: JobContext, settled: SettledJob) {
  return isVendorSdk(httpRequest)
    ? toOpenAiVideo(gateway, settled)
    : toJobRecord(gateway, settled, resolvePublicUrl(gateway, httpRequest))
}

function producesVideo(model: Model): boolean {
  return hasOutput(model, 'video')
}

/** Whether some endpoint of the model speaks a format of video jobs. */
function canMakeVideos(model: Model): boolean {
  return producesVideo(model) && model.endpoints.some((endpoint) => findVideoWireFormat(endpoint))
}

function toVideoModel(model: Model): z.input<typeof videoModel> {
  const { video } = model.top_endpoint
  return {
    id: model.id,
    canonical_slug: model.canonical_slug,
    name: model.name,
    created: model.listed_at,
    description: model.description,
    model_hub_id: model.model_hub_id,
    supported_aspect_ratios: video?.supported_aspect_ratios ?? null,
    supported_durations: video?.supported_durations ?? null,
    supported_frame_images: video?.supported_frame_images ?? null,
    supported_resolutions: video?.supported_resolutions ?? null,
    supported_sizes: video?.supported_sizes ?? null,
    creativity: video?.creativity ?? null,
    generate_audio: video?.generate_audio ?? null,
    seed: video?.seed ?? null,
    upscale_factor: video?.upscale_factor ?? null,
    allowed_passthrough_parameters: video?.allowed_passthrough_parameters ?? [],
    pricing_skus: video?.pricing_skus ?? null,
  }
}
