import type { MediaReply, MediaReplyContext, MediaWireFormat } from '../../formats/media.ts'
import { newReplySummary, type ReplySummary } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Charge } from '../../ledger/charge.ts'
import { isBlock } from '../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { buildMetadata } from '../explain/metadata.ts'
import {
  buildReplyHeaders,
  listDroppedFields,
  toJsonResponse,
  toTextResponse,
} from '../reply/http-response.ts'
import type { Admitted, Routed } from '../request/inference-request.ts'
import type { Candidate } from '../routing/candidate.ts'
import { buildCost, computeCharge, settleOnce } from '../settle/settle.ts'
import { settleFailure } from '../settle/settle-failure.ts'
import { dispatchMedia } from './dispatch.ts'
import type { MediaRequest, MediaTask } from './task.ts'

/** The body of a reply: JSON, or a text of any content type, in pieces if it may be long. */
export type EncodedReply = JsonObject | EncodedText

export interface EncodedText {
  contentType: string
  text: string | readonly string[]
}

/** Responds with a whole reply, after its charge is durable. */
export async function replyWithMedia<Call, D extends MediaWireFormat<Call>, Reply extends MediaReply>(
  gateway: Gateway,
  request: Admitted<MediaRequest<Call>>,
  task: MediaTask<Call, D, Reply>,
  encodeReply: (reply: Reply, context: MediaReplyContext, call: Call) => EncodedReply,
): Promise<Response> {
  const encoded = await executeMedia(gateway, request, task, encodeReply)
  return toResponse(gateway, encoded, buildReplyHeaders(request, listDroppedFields(request)))
}

/** Dispatches and settles an admitted request. Resolves with its encoded reply, after its charge is durable. */
export async function executeMedia<Call, D extends MediaWireFormat<Call>, Reply extends MediaReply, Encoded>(
  gateway: Gateway,
  request: Admitted<MediaRequest<Call>>,
  task: MediaTask<Call, D, Reply>,
  encodeReply: (reply: Reply, context: MediaReplyContext, call: Call) => Encoded,
): Promise<Encoded> {
  try {
    const { candidate, reply: received } = await dispatchMedia(gateway, request, task)
    const summary = summarizeMedia(received)
    const charge = computeCharge(gateway, request, summary)
    const outcome = { charge, summary, firstTokenMs: null }
    const reply = await filterReply(request, task, received).catch(async (error: unknown) => {
      // A blocked reply was produced, and is charged.
      if (isBlock(error)) await settleOnce(gateway, request, { ...outcome, status: 'failed', error })
      throw error
    })
    request.attempts.transcript?.setText(reply.text ?? '')
    const encoded = encodeReply(reply, buildMediaContext(request, candidate, charge), request.media)
    const status = request.httpRequest.signal.aborted ? 'cancelled' : 'completed'
    await settleOnce(gateway, request, { ...outcome, status, error: null })
    return encoded
  } catch (error) {
    throw await settleFailure(gateway, request, error)
  }
}

async function filterReply<Call, D extends MediaWireFormat<Call>, Reply>(
  { replyFilter }: MediaRequest<Call>,
  task: MediaTask<Call, D, Reply>,
  reply: Reply,
): Promise<Reply> {
  return replyFilter && task.filterReply ? task.filterReply(reply, replyFilter) : reply
}

/** A complete reply. */
export function summarizeMedia({ usage, units, tier = null }: MediaReply): ReplySummary {
  const finishReasons = [{ reason: 'stop', native: null }]
  return { ...newReplySummary(), hasContent: true, isComplete: true, finishReasons, usage, units, tier }
}

export function buildMediaContext(request: Routed, candidate: Candidate, charge: Charge): MediaReplyContext {
  const { model, endpoint } = candidate
  return {
    id: request.id,
    created: Math.floor(request.at / 1000),
    model: model.id,
    provider: endpoint.provider.name,
    usage: charge.usage,
    cost: buildCost(charge, candidate, request.work),
    metadata: request.options.wantsMetadata ? buildMetadata(request) : null,
  }
}

export function toResponse(gateway: Gateway, body: EncodedReply, headers: Record<string, string>): Response {
  if (!isText(body)) return toJsonResponse(gateway, body, headers)
  return toTextResponse(gateway, body.text, { 'content-type': body.contentType, ...headers })
}

function isText(body: EncodedReply): body is EncodedText {
  return typeof body.contentType === 'string' && (typeof body.text === 'string' || Array.isArray(body.text))
}
