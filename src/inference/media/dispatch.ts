import type { MediaWireFormat } from '../../formats/media.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { encodeForm } from '../../platform/http/form-encode.ts'
import type { IdleLimit } from '../reply/client-texts.ts'
import { createTranscript } from '../reply/transcript.ts'
import type { Routed } from '../request/inference-request.ts'
import type { Candidate } from '../routing/candidate.ts'
import { drainAbandoned } from '../upstream/drain-abandoned.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import { withFailover } from '../upstream/failover.ts'
import { send, type UpstreamCall } from '../upstream/send.ts'
import type { MediaRequest, MediaTask } from './task.ts'
import { type MediaTranslation, translateMedia } from './translate.ts'

/** The attempt whose upstream replied. */
export interface AcceptedMedia<Reply> {
  candidate: Candidate
  reply: Reply
  /** Of a streamed reply. */
  idle: IdleLimit
}

/** Sends a request to the candidates of its plan until one replies. */
export async function dispatchMedia<Call, D extends MediaWireFormat<Call>, Reply>(
  gateway: Gateway,
  request: Routed<MediaRequest<Call>>,
  task: MediaTask<Call, D, Reply>,
): Promise<AcceptedMedia<Reply>> {
  request.attempts.transcript = createTranscript(request)
  if (task.prepare) request.media = await task.prepare(gateway, request.media)
  return withFailover(gateway, request, {
    translate: (_gateway, _request, candidate) => translateMedia(gateway, request, candidate, task),
    execute: async (exchange, candidate, translation) => {
      const { whole_reply } = exchange.limits
      exchange.setTimeout(Math.min(whole_reply, task.timeoutMs ?? whole_reply))
      const replying = sendMedia(gateway, exchange, translation, { call: request.media, task })
      if (task.isBilledOnArrival || candidate.endpoint.provider.billsAbandoned)
        drainAbandoned(gateway, request, exchange, replying)
      const idle = { ms: exchange.limits.idle, isRequested: exchange.isIdleRequested }
      return { candidate, reply: await replying, idle }
    },
  })
}

/** Sends a request, to a provider on the network or in this process. */
export async function sendMedia<Call, D extends MediaWireFormat<Call>, Reply>(
  gateway: Gateway,
  exchange: UpstreamExchange,
  translation: MediaTranslation<D>,
  { call, task }: { call: Call; task: MediaTask<Call, D, Reply> },
): Promise<Reply> {
  const { wireFormat, access } = translation
  const { endpoint } = access
  const simulated = task.simulate(gateway, exchange, call, endpoint)
  if (simulated) return simulated
  const upstream = await send(gateway, exchange, await buildMediaCall(translation))
  return task.receive(exchange, upstream, { call, wireFormat, endpoint }, gateway)
}

/** The HTTP request for an upstream. */
async function buildMediaCall<Call>({
  access,
  wireFormat,
  upstreamRequest,
}: MediaTranslation<MediaWireFormat<Call>>): Promise<UpstreamCall> {
  const { path, headers, body } = upstreamRequest
  const target = { path, access, upstream: wireFormat, isAdapted: false }
  if (body instanceof Uint8Array) return { ...target, headers, body }
  if (!Array.isArray(body)) return { ...target, headers, body: JSON.stringify(body) }
  const form = await encodeForm(body)
  return { ...target, headers: { ...headers, 'content-type': form.contentType }, body: form.body }
}
