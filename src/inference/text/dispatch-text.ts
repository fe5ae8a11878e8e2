import type { ReplyContext, ReplySummary } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { buildMetadata } from '../explain/metadata.ts'
import { createTranscript } from '../reply/transcript.ts'
import { createPipeline } from '../reply/transforms.ts'
import type { InferenceRequest, Routed } from '../request/inference-request.ts'
import { isVendorSdk } from '../request/vendor-sdk.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { Attempt } from '../upstream/attempt.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import { withFailover } from '../upstream/failover.ts'
import { type Translation, translateToSend } from '../upstream/translate.ts'

type ExecuteFn<R> = (
  exchange: UpstreamExchange,
  attempt: Attempt,
  state: Routed<InferenceRequest>,
) => Promise<R>

/** Sends a request for text to the candidates of its plan; each attempt has its own pipeline and transcript. */
export function dispatchText<R>(
  gateway: Gateway,
  request: Routed<InferenceRequest>,
  execute: ExecuteFn<R>,
  abandon: (value: R, isBilled: boolean) => Promise<ReplySummary>,
): Promise<R> {
  return withFailover(gateway, request, {
    translate: translateToSend,
    execute: (exchange, candidate, translation, state) =>
      execute(exchange, beginAttempt(state, candidate, translation), state),
    abandon,
  })
}

function beginAttempt(
  request: Routed<InferenceRequest>,
  candidate: Candidate,
  translation: Translation,
): Attempt {
  const { attempts, content } = request
  const { model, endpoint } = candidate
  if (request.logsContent || request.exportTargets) attempts.transcript = createTranscript(request)
  const context: ReplyContext = {
    id: request.id,
    created: Math.floor(request.at / 1000),
    model: model.id,
    provider: endpoint.provider.name,
    tier: endpoint.service_tier,
    get call() {
      return content.call
    },
    isPlain: content.plain !== null,
    body: content.body,
    elapsedMs: () => performance.now() - request.startedAt,
    formatNames: request.options.reasoningFormatNames,
    get isVendorClient() {
      return isVendorSdk(request.httpRequest)
    },
    ...(request.options.wantsMetadata && { explain: () => buildMetadata(request) }),
  }
  return { candidate, translation, context, pipeline: createPipeline(request, attempts.transcript) }
}
