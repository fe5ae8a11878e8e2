import type { EmbeddingsReply } from '../../formats/call/embeddings.ts'
import { decodeEmbeddings } from '../../formats/embeddings/decode.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { unavailableError } from '../../platform/errors/gateway-error.ts'
import { withNestedSpan } from '../../platform/tracing/span-recorder.ts'
import { admit } from '../hold/admit.ts'
import type { NestedRequestLine } from '../hold/bill-line.ts'
import { embeddingsTask } from '../media/embeddings.ts'
import { excludeUnfit } from '../media/fit.ts'
import { parseMediaRequest } from '../media/parse.ts'
import { executeMedia } from '../media/reply-whole.ts'
import { planRoute } from '../plan/plan.ts'
import type { RequestState, SettledReply } from '../request/inference-request.ts'
import { createStageOptions } from '../request/options.ts'
import { nestTrace } from '../settle/event-trace.ts'

/** What the request for an embedding is on the bill as. */
const purpose = 'semantic_cache'

export interface TextEmbedding {
  text: string
  /** The embedding model. */
  model: string
  timeoutMs: number
}

/**
 * Turns a text of a guarded request into a vector: by a request of the same key, with a hold and a record of its own,
 * which is added to `lines`.
 */
export async function embedText(
  gateway: Gateway,
  outer: RequestState,
  embedding: TextEmbedding,
  lines: NestedRequestLine[],
): Promise<Float32Array<ArrayBuffer>> {
  const request = await createRequest(gateway, outer, embedding)
  request.onSettled = [recordLine(request.id, lines)]
  return withNestedSpan(request.spans, async () => {
    const routed = planRoute(gateway, request)
    routed.plan = excludeUnfit(routed.plan, request.media, embeddingsTask)
    const admitted = await admit(gateway, routed)
    return executeMedia(gateway, admitted, embeddingsTask, readVector)
  })
}

/**
 * The text has passed the filters of the other request, and is in no log of its own. Unlike a moderation model, the key
 * must be allowed to use the model.
 */
async function createRequest(
  gateway: Gateway,
  outer: RequestState,
  { text, model, timeoutMs }: TextEmbedding,
) {
  const { caller, region, httpRequest, options } = outer
  const body = { model, input: text, encoding_format: 'base64' }
  const trace = nestTrace(outer, 'embeddings', purpose)
  const incoming = { caller, region, httpRequest, body, decode: decodeEmbeddings, tags: options.tags, trace }
  const request = await parseMediaRequest(gateway, incoming, embeddingsTask)
  const { exportTargets } = request
  return Object.assign(request, {
    isGuarded: true as const,
    isNested: true,
    isRateCounted: true,
    outer: { id: outer.id, purpose },
    rule: null,
    options: createStageOptions(options, model),
    logsContent: false,
    exportTargets: exportTargets && { ...exportTargets, includesContent: false },
    timeLimitMs: timeoutMs,
    work: null,
    funds: null,
  })
}

function recordLine(id: string, lines: NestedRequestLine[]) {
  const startedAt = performance.now()
  return ({ candidate, cost }: SettledReply): void => {
    const provider = candidate?.endpoint.provider.name ?? ''
    lines.push({ id, purpose, provider, usage: null, cost, isCharged: candidate !== null, startedAt })
  }
}

/** Longer vectors would make each entry large. */
const maxNumbers = 8192

/** The reply is a text of JSON: float32 numbers in base64. */
function readVector({ vectors }: EmbeddingsReply): Float32Array<ArrayBuffer> {
  const bytes = Buffer.from(JSON.parse(vectors[0] ?? '""'), 'base64')
  if (bytes.length === 0 || bytes.length > 4 * maxNumbers) throw unavailableError()
  return new Float32Array(new Uint8Array(bytes).buffer)
}
