import { resolvePublicUrl } from '../../access/origin.ts'
import { findModel } from '../../catalog/lookup.ts'
import type { VideoCall } from '../../formats/call/video.ts'
import { decodeVideoRequest, measureVideo, toVideoPrompt } from '../../formats/video/decode.ts'
import { listIneffectiveFields, type VideoRequestBody } from '../../formats/video/schema.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { zeroCharge } from '../../ledger/charge.ts'
import { jobOwner } from '../../ledger/engine.ts'
import { newTimeOrderedHex } from '../../platform/crypto/ids.ts'
import {
  GatewayError,
  gatewayError,
  invalidFieldError,
  rateLimitError,
} from '../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { logOf } from '../../platform/logging/request-log.ts'
import { isoNow } from '../../platform/time/clock.ts'
import { withSpan } from '../../platform/tracing/span-recorder.ts'
import {
  buildJobDelete,
  countActiveVideoJobs,
  deleteVideoJob,
  encryptJson,
  findVideoCallback,
  findVideoJob,
  insertVideoJob,
  openContents,
  runJobStatements,
  updateHeldJob,
  type VideoJob,
} from '../../storage/video-jobs.ts'
import { recordHits } from '../guard/hits.ts'
import { admit } from '../hold/admit.ts'
import { leaveToJob } from '../hold/declared-limits.ts'
import { excludeUnfit } from '../media/fit.ts'
import { parseMediaRequest } from '../media/parse.ts'
import type { DecodedMedia, MediaRequest } from '../media/task.ts'
import { buildReplyHeaders } from '../reply/http-response.ts'
import { createTranscript } from '../reply/transcript.ts'
import type { Admitted, IncomingRequest, Routed, RoutingPlan } from '../request/inference-request.ts'
import { serveRequest } from '../serve.ts'
import { buildContentStatements } from '../settle/content-log.ts'
import { recordOutcome } from '../settle/observe.ts'
import { recordReply } from '../settle/reply-span.ts'
import { settleFailure } from '../settle/settle-failure.ts'
import { guardMedia } from '../stages/guard.ts'
import { buildLease, withLease } from './lease.ts'
import { type AcceptedVideo, submitVideo, videoTask } from './submit.ts'
import { assertCallbackAllowed } from './webhook.ts'

type IncomingVideo = Pick<IncomingRequest, 'caller' | 'region' | 'httpRequest'> & { body: VideoRequestBody }

const minuteMs = 60_000
/** The first poll, after the submission. */
const firstPollMs = 1000

/**
 * Creates a job and submits it. The job is stored before its hold is placed, and both before a provider is called. The
 * client gets an error, and no job, if no provider accepts it.
 */
export async function createVideoJob(
  gateway: Gateway,
  incoming: IncomingVideo,
  encodeJob: (job: VideoJob) => JsonObject,
): Promise<Response> {
  const { body, caller } = incoming
  assertCallbackAllowed(gateway, body.callback_url, 'callback_url')
  const previous = await findPrevious(gateway, incoming)
  const received = {
    ...incoming,
    id: `gen-vid-${newTimeOrderedHex()}`,
    decode: (valid: JsonObject) => decodeJob(gateway, valid as VideoRequestBody, previous),
  }
  const parsed = await parseMediaRequest(gateway, received, videoTask)
  const ineffective = listIneffectiveFields(body)
  return serveRequest<MediaRequest<VideoCall>>(gateway, parsed, {
    prepare: async () => {
      const request = await guardMedia(gateway, parsed)
      assertLossless(request, ineffective)
      await enforceActiveLimit(gateway, caller.key.workspace_id)
      return request
    },
    reply: async (_gateway, request) => {
      const fit = excludeUnfit(request.plan, request.media, videoTask)
      request.plan = restrictToPrevious(fit, previous?.job ?? null)
      const job = await storeJob(gateway, incoming, request)
      const { dropped, stored } = await withLease(gateway, job.id, () =>
        placeAndSubmit(gateway, request, job),
      )
      const headers = buildReplyHeaders(request, [...ineffective, ...dropped])
      return Response.json(encodeJob(stored), { status: 202, headers })
    },
  })
}

function decodeJob(
  { catalog }: Gateway,
  body: VideoRequestBody,
  previous: PreviousVideo | null,
): DecodedMedia<VideoCall> {
  const call: VideoCall = { ...decodeVideoRequest(body), previous: previous?.reference ?? null }
  return {
    body,
    call,
    prompt: toVideoPrompt(call),
    opaque: call.references.some(({ kind }) => kind === 'audio') ? ['audio'] : [],
    size: measureVideo(call, findModel(catalog, body.model)?.model),
  }
}

function assertLossless({ options }: MediaRequest<VideoCall>, dropped: string[]): void {
  if (!options.strict || dropped.length === 0) return
  const message = `Strict mode: this API has no ${dropped.join(', ')}. Remove the fields, or x-headgate-strict.`
  throw gatewayError('loss_refused', message, { dropped })
}

async function enforceActiveLimit({ db, settings, clock }: Gateway, workspaceId: string): Promise<void> {
  const { active } = settings.videos
  if ((await countActiveVideoJobs(db, workspaceId)) < active) return
  const message = `The workspace already has ${active} video jobs in progress, which is the limit. Wait for one to end.`
  throw rateLimitError(message, active, minuteMs, clock.now())
}

interface PreviousVideo {
  job: VideoJob
  reference: NonNullable<VideoCall['previous']>
}

async function findPrevious(
  { db, vault }: Gateway,
  { body, caller }: IncomingVideo,
): Promise<PreviousVideo | null> {
  const { previous_job_id: id } = body
  if (id === undefined) return null
  const scope = { organizationId: caller.organizationId, workspaceIds: new Set([caller.key.workspace_id]) }
  const job = await findVideoJob(db, scope, id)
  if (!job) throw invalidFieldError('previous_job_id', 'is not a job of this workspace')
  const [url] = openContents(vault, job)
  if (job.status !== 'completed' || url === undefined)
    throw invalidFieldError('previous_job_id', 'must be a completed job whose video is still stored')
  return { job, reference: { upstreamId: job.upstream_id ?? '', url } }
}

/** Restricts the plan to the endpoint and the credential that made the video: no other can continue it. */
function restrictToPrevious(plan: RoutingPlan, previous: VideoJob | null): RoutingPlan {
  if (!previous) return plan
  const candidates = plan.candidates.filter(
    ({ endpoint, byokKey }) =>
      endpoint.id === previous.endpoint_id && (byokKey?.id ?? null) === previous.byok_key_id,
  )
  if (candidates.length > 0) return { ...plan, candidates }
  throw invalidFieldError(
    'previous_job_id',
    `must be a job of the requested model, at an endpoint that this request may use; it was made by ${previous.model}`,
  )
}

async function storeJob(
  gateway: Gateway,
  { body, caller, region, httpRequest }: IncomingVideo,
  { id: generationId, media, at }: MediaRequest<VideoCall>,
): Promise<VideoJob> {
  const { db, vault, clock, settings } = gateway
  const id = `video_${newTimeOrderedHex()}`
  const workspaceId = caller.key.workspace_id
  const workspace = await findVideoCallback(db, workspaceId)
  const lease = buildLease(gateway)
  const job: VideoJob = {
    id,
    organization_id: caller.organizationId,
    workspace_id: workspaceId,
    key_id: caller.key.id,
    generation_id: generationId,
    status: 'pending',
    step: 'created',
    model: body.model.slice(0, maxModelLength),
    endpoint_id: '',
    byok_key_id: null,
    region,
    request: encryptJson(vault, id, {
      // Its pictures are sent now or never.
      call: { ...media, firstFrame: null, lastFrame: null, references: [] },
      callbackUrl: body.callback_url ?? workspace?.video_callback_url ?? null,
      origin: resolvePublicUrl(gateway, httpRequest),
    }),
    sent: null,
    upstream_id: null,
    progress: 0,
    contents: null,
    error: null,
    created_at: new Date(at).toISOString(),
    ended_at: null,
    deadline_at: new Date(at + settings.videos.timeout).toISOString(),
    content_expires_at: null,
    due_at: isoNow(clock),
    polls: 0,
    lease_owner: lease.owner,
    lease_until: lease.until,
    webhook_due_at: null,
    webhook_attempts: 0,
  }
  await insertVideoJob(db, job)
  return job
}

const maxModelLength = 256

async function placeAndSubmit(
  gateway: Gateway,
  routed: Routed<MediaRequest<VideoCall>>,
  job: VideoJob,
): Promise<{ stored: VideoJob; dropped: string[] }> {
  const request = await admitJob(gateway, routed, job)
  request.attempts.transcript = createTranscript(request)
  leaveToJob(request)
  try {
    const accepted = await submitVideo(gateway, request, job.id)
    const stored = await recordAccepted(gateway, request, job, accepted)
    return { stored, dropped: accepted.sent.dropped }
  } catch (error) {
    throw await abandonJob(gateway, request, job, error)
  }
}

/** A rejected job leaves nothing. If the ledger is unavailable, its hold may exist: then the job is ended later. */
async function admitJob(
  gateway: Gateway,
  request: Routed<MediaRequest<VideoCall>>,
  job: VideoJob,
): Promise<Admitted<MediaRequest<VideoCall>>> {
  try {
    const admitting = admit<MediaRequest<VideoCall>>
    return await withSpan(request, 'admit', admitting, gateway, request, { owner: jobOwner })
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'unavailable')
      await deleteVideoJob(gateway.db, job.id)
    throw error
  }
}

/** Records that the provider accepted the job, which any node polls from here on. */
async function recordAccepted(
  gateway: Gateway,
  request: MediaRequest<VideoCall>,
  job: VideoJob,
  { upstreamId }: AcceptedVideo,
): Promise<VideoJob> {
  const { db, node, clock } = gateway
  const changes = {
    step: 'sent' as const,
    upstream_id: upstreamId,
    due_at: new Date(clock.now() + firstPollMs).toISOString(),
    lease_owner: null,
    lease_until: null,
  }
  if (!(await updateHeldJob(db, job.id, node.id, changes))) {
    logOf(gateway, request).warn(
      { job: job.id },
      'a video job was taken over while it was submitted: it is not charged',
    )
    throw new GatewayError('unavailable')
  }
  const outcome = {
    status: 'completed',
    charge: zeroCharge,
    summary: null,
    error: null,
    firstTokenMs: null,
  } as const
  recordOutcome(gateway, request, outcome)
  if (request.spans) recordReply(request, request.spans, outcome)
  await logContent(gateway, request)
  await recordHits(gateway, request)
  return { ...job, ...changes }
}

/** The request of a job is logged when it is accepted: the node that ends the job does not have it. */
async function logContent(gateway: Gateway, request: MediaRequest<VideoCall>): Promise<void> {
  try {
    await runJobStatements(gateway.db, buildContentStatements(gateway, request, null))
  } catch (err) {
    logOf(gateway, request).warn({ err }, 'failed to log the content of a generation')
  }
}

/**
 * Settles a job that no provider accepted, and deletes it: its client gets the error. If it cannot be settled now, the
 * job stays, and ends once its lease has.
 */
async function abandonJob(
  gateway: Gateway,
  request: Admitted<MediaRequest<VideoCall>>,
  job: VideoJob,
  error: unknown,
): Promise<Error> {
  const failure = await settleFailure(gateway, request, error, [buildJobDelete(gateway.db, job.id)])
  const isSettled = await request.settling?.then(
    () => true,
    () => false,
  )
  // A job that reached no provider is only released, without a statement.
  if (isSettled) await deleteVideoJob(gateway.db, job.id).catch(() => undefined)
  return failure
}
