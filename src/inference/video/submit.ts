import { ProviderAuthError } from '../../catalog/provider-auth/scheme.ts'
import { simulators } from '../../catalog/providers/simulators.ts'
import { completeVideoCall, type VideoCall } from '../../formats/call/video.ts'
import { describeBodyFields } from '../../formats/schema/body-fields.ts'
import { listVideoWireFormats } from '../../formats/video/all.ts'
import { videoRequest } from '../../formats/video/schema.ts'
import type { VideoWireFormat } from '../../formats/video/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { asObject } from '../../platform/json/json-values.ts'
import { type SentVideoJob, updateHeldJob } from '../../storage/video-jobs.ts'
import { UpstreamError, unexpectedReplyError } from '../failures/errors.ts'
import { buildUpstreamTarget } from '../hold/admit.ts'
import { sendMedia } from '../media/dispatch.ts'
import type { MediaRequest, MediaTask } from '../media/task.ts'
import { type MediaTranslation, translateMedia } from '../media/translate.ts'
import type { Routed } from '../request/inference-request.ts'
import type { Candidate } from '../routing/candidate.ts'
import { encodeAttempts } from '../settle/attempts.ts'
import { readJsonBody } from '../upstream/decode-reply.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import { withFailover } from '../upstream/failover.ts'
import { ensureReachable } from '../upstream/send.ts'
import { sleep } from '../upstream/simulation.ts'
import { findVideoProblem } from './problems.ts'

/** A submission is a request like any other; its reply is the provider's id of the job. */
export const videoTask: MediaTask<VideoCall, VideoWireFormat, string> = {
  name: 'video',
  fields: describeBodyFields(videoRequest.shape),
  wireFormats: listVideoWireFormats({}),
  findProblem: findVideoProblem,
  listAllowedOptions: ({ video }) => video?.allowed_passthrough_parameters ?? [],
  receive: async (exchange, upstream, { wireFormat }) => {
    const id = wireFormat.decodeSubmission(await readJsonBody(exchange, upstream))
    if (id === null || !isPlausibleId(id))
      throw unexpectedReplyError('The provider sent a reply without the id of the job.')
    exchange.release()
    return id
  },
  simulate: () => undefined,
}

const maxIdLength = 512

/** Whether an id can be stored: a text in PostgreSQL has no NUL. */
function isPlausibleId(id: string): boolean {
  return id.length <= maxIdLength && !id.includes('\0')
}

/** The provider's id of an accepted job, and where it was sent. */
export interface AcceptedVideo {
  upstreamId: string
  sent: SentVideoJob
}

/**
 * Submits a job to the candidates of its plan until one accepts it. Where it is sent is recorded first, so that a crash
 * never submits it twice; and it is not sent elsewhere when a provider may have accepted it.
 */
export function submitVideo(
  gateway: Gateway,
  request: Routed<MediaRequest<VideoCall>>,
  jobId: string,
): Promise<AcceptedVideo> {
  return withFailover(gateway, request, {
    translate: (_gateway, _request, candidate) =>
      translateMedia(gateway, completeRequest(request, candidate), candidate, taskFor(candidate)),
    execute: async (exchange, candidate, translation) => {
      exchange.setTimeout(gateway.settings.limits.whole_reply)
      // The job exists, whether or not its client waits.
      exchange.outliveClient()
      const completed = completeRequest(request, candidate)
      const sent = describeSubmission(gateway, candidate, translation, completed)
      const { access } = translation
      const isUsable = access.problem === null && !access.endpoint.provider.inProcess
      if (isUsable) await ensureReachable(gateway, exchange, access)
      await recordSending(gateway, jobId, candidate, sent)
      const upstreamId = await send(gateway, exchange, completed.media, translation)
      return { upstreamId, sent }
    },
  })
}

function taskFor({ endpoint }: Candidate): typeof videoTask {
  return { ...videoTask, wireFormats: listVideoWireFormats(endpoint.provider) }
}

function completeRequest(request: MediaRequest<VideoCall>, { endpoint }: Candidate): MediaRequest<VideoCall> {
  return { ...request, media: completeVideoCall(request.media, endpoint.video) }
}

function describeSubmission(
  gateway: Gateway,
  candidate: Candidate,
  { wireFormat, upstreamRequest }: MediaTranslation<VideoWireFormat>,
  request: MediaRequest<VideoCall>,
): SentVideoJob {
  const { duration, resolution, aspectRatio, size, audio } = request.media
  return {
    target: buildUpstreamTarget(gateway, candidate, wireFormat.name),
    attempts: encodeAttempts(request),
    dropped: [...upstreamRequest.dropped, ...request.options.droppedTags],
    chosen: { duration, resolution, aspectRatio, size, audio },
  }
}

async function recordSending(
  gateway: Gateway,
  jobId: string,
  { model, endpoint, byokKey }: Candidate,
  sent: SentVideoJob,
): Promise<void> {
  const isHeld = await updateHeldJob(gateway.db, jobId, gateway.node.id, {
    step: 'sending',
    model: model.id,
    endpoint_id: endpoint.id,
    byok_key_id: byokKey?.id ?? null,
    sent: JSON.stringify(sent),
  })
  if (!isHeld) throw new GatewayError('unavailable')
}

async function send(
  gateway: Gateway,
  exchange: UpstreamExchange,
  call: VideoCall,
  translation: MediaTranslation<VideoWireFormat>,
): Promise<string> {
  const simulator = simulators.get(translation.access.provider.slug)?.video
  if (simulator) {
    const options = asObject(translation.upstreamRequest.body) ?? {}
    const submitted = await simulator.submit(call, options, {
      now: gateway.clock.now(),
      sleep: (ms) => sleep(ms, exchange.signal),
    })
    if ('failure' in submitted) throw new UpstreamError(submitted.failure)
    exchange.release()
    return submitted.id
  }
  try {
    return await sendMedia(gateway, exchange, translation, { call, task: videoTask })
  } catch (error) {
    throw isRejection(error) ? error : unknownOutcomeError(error)
  }
}

/** Errors of a connection that was never opened. */
const unsentCodes: ReadonlySet<unknown> = new Set(['ConnectionRefused', 'FailedToOpenSocket', 'ENOTFOUND'])

/** Whether the provider certainly has no such job: it said so, or nothing was sent. */
function isRejection(error: unknown): boolean {
  if (!(error instanceof UpstreamError)) return false
  const { failure, cause } = error
  if (failure.status !== null || cause instanceof ProviderAuthError) return true
  return cause instanceof Error && 'code' in cause && unsentCodes.has(cause.code)
}

/** Sending the job to another provider could make the video twice. */
function unknownOutcomeError(cause: unknown): Error {
  if (!(cause instanceof UpstreamError)) return cause instanceof Error ? cause : new Error(String(cause))
  return new GatewayError(cause.failure.kind === 'timeout' ? 'upstream_timeout' : 'upstream_failed', {
    message:
      'The provider did not confirm the job. It was not sent to another provider, and nothing is charged. Create it again.',
    cause,
  })
}
