import type { GeneratedImage, ImagesCall, ImagesReply } from '../../formats/call/images.ts'
import { decodeImageBody } from '../../formats/images/decode.ts'
import { imageRequest } from '../../formats/images/schema.ts'
import type { MediaReplyContext } from '../../formats/media.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Amounts } from '../../ledger/amounts.ts'
import { unavailableError } from '../../platform/errors/gateway-error.ts'
import { type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import { withNestedSpan } from '../../platform/tracing/span-recorder.ts'
import { validateInput } from '../../platform/validation/validate-input.ts'
import { admit, estimateHold } from '../hold/admit.ts'
import { addNestedRequest } from '../hold/bill-line.ts'
import { releaseOnFailure } from '../hold/request-funds.ts'
import { excludeUnfit } from '../media/fit.ts'
import { imagesTask } from '../media/images.ts'
import { parseMediaRequest } from '../media/parse.ts'
import { executeMedia } from '../media/reply-whole.ts'
import type { MediaRequest } from '../media/task.ts'
import { planRoute } from '../plan/plan.ts'
import type {
  IncomingRequest,
  InferenceRequest,
  NestedTrace,
  SettledReply,
} from '../request/inference-request.ts'
import { newGenerationId } from '../request/parse.ts'
import { nestTrace } from '../settle/event-trace.ts'
import { guardMedia } from '../stages/guard.ts'
import type { GenerateImageFn, NestedImageRequest } from '../tools/tool.ts'
import { withNestedHttpRequest } from './http-request.ts'

/** What the request for an image is on the bill as. */
const purpose = 'image_generation'

/** Generates images on behalf of a request, each as a nested request: see `createCallModel`. */
export function createGenerateImage(gateway: Gateway, outer: InferenceRequest): GenerateImageFn {
  return async (nested) => {
    const id = newGenerationId()
    const startedAt = performance.now()
    const trace = nestTrace(outer, 'images', purpose, nested.parent)
    let line = { provider: '', cost: 0n, isCharged: false }
    const onSettled = ({ candidate, cost }: SettledReply) => {
      line = { provider: candidate?.endpoint.provider.name ?? '', cost, isCharged: candidate !== null }
    }
    try {
      return await withNestedSpan(trace.spans, () =>
        withNestedHttpRequest(gateway, outer.httpRequest, nested.signal, (httpRequest) =>
          generate(gateway, { outer, httpRequest, id, onSettled, trace }, nested),
        ),
      )
    } finally {
      addNestedRequest(outer, { ...line, purpose, usage: null, id, startedAt })
    }
  }
}

/** The hold of such a request. */
export async function estimateImage(
  gateway: Gateway,
  outer: InferenceRequest,
  fields: JsonObject,
): Promise<Amounts> {
  const nested = { fields: { ...fields, prompt: 'An image' }, signal: outer.httpRequest.signal }
  const trace = { sampledId: outer.sampledId, spans: null }
  const parsed = await parse(gateway, { outer, httpRequest: outer.httpRequest, trace }, nested)
  // It is not sent.
  const request = planRoute(gateway, Object.assign(parsed, { isGuarded: true as const }))
  const plan = excludeUnfit(request.plan, request.media, imagesTask)
  return estimateHold(gateway, request, plan).estimate
}

/** A nested request before its fields are parsed. */
interface NestedOrigin extends Pick<IncomingRequest, 'httpRequest' | 'id'> {
  trace: NestedTrace
  outer: InferenceRequest
  onSettled?: (settled: SettledReply) => void
}

async function generate(gateway: Gateway, origin: NestedOrigin, nested: NestedImageRequest) {
  const parsed = await parse(gateway, origin, nested)
  const admitted = await releaseOnFailure(gateway, parsed, async () => {
    const request = planRoute(gateway, await guardMedia(gateway, parsed))
    request.plan = excludeUnfit(request.plan, request.media, imagesTask)
    return admit<MediaRequest<ImagesCall>>(gateway, request)
  })
  const read = ({ images }: ImagesReply, { model }: MediaReplyContext) => ({
    id: parsed.id,
    model,
    image: requireImage(images),
  })
  return executeMedia(gateway, admitted, imagesTask, read)
}

function parse(
  gateway: Gateway,
  { outer, httpRequest, id, onSettled, trace }: NestedOrigin,
  nested: NestedImageRequest,
) {
  const { caller, region, options, funds } = outer
  const { data_collection, zdr } = options.preferences
  const inherited = omitUndefined({
    provider: omitUndefined({ data_collection, zdr }),
    session_id: options.sessionId ?? undefined,
    user: options.user ?? undefined,
  })
  const body = validateInput(imageRequest, { ...nested.fields, ...inherited }, 'parameters')
  const incoming = {
    caller,
    region,
    httpRequest,
    body,
    decode: decodeImageBody,
    tags: options.tags,
    trace,
    priority: options.priority,
    ...(id !== undefined && { id }),
    ...(onSettled && { onSettled: [onSettled] }),
    ...(funds && { outerFunds: funds }),
  }
  return parseMediaRequest(gateway, incoming, imagesTask)
}

function requireImage([image]: readonly GeneratedImage[]): GeneratedImage {
  if (!image) throw unavailableError()
  return image
}
