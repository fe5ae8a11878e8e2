import type { GeneratedImage, ImagesReply } from '../../formats/call/images.ts'
import { decodeImageBody } from '../../formats/images/decode.ts'
import { imageRequest } from '../../formats/images/schema.ts'
import type { MediaReplyContext } from '../../formats/media.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Amounts } from '../../ledger/amounts.ts'
import { unavailableError } from '../../platform/errors/gateway-error.ts'
import { type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import { validateInput } from '../../platform/validation/validate-input.ts'
import { admit, estimateHold } from '../hold/admit.ts'
import { addNestedRequest } from '../hold/bill-line.ts'
import { releaseOnFailure } from '../hold/request-funds.ts'
import { excludeUnfit } from '../media/fit.ts'
import { imagesTask } from '../media/images.ts'
import { parseMediaRequest } from '../media/parse.ts'
import { executeMedia } from '../media/reply-whole.ts'
import { planRoute } from '../plan/plan.ts'
import type { InferenceRequest, SettledReply } from '../request/inference-request.ts'
import { newGenerationId } from '../request/parse.ts'
import { guardMedia } from '../stages/guard.ts'
import type { GenerateImageFn, NestedImageRequest } from '../tools/tool.ts'
import { withNestedHttpRequest } from './http-request.ts'

/** Generates images on behalf of a request, each as a nested request: see `createCallModel`. */
export function createGenerateImage(gateway: Gateway, outer: InferenceRequest): GenerateImageFn {
  return async (nested) => {
    const id = newGenerationId()
    const startedAt = performance.now()
    let line = { provider: '', cost: 0n, isCharged: false }
    const onSettled = ({ candidate, cost }: SettledReply) => {
      line = { provider: candidate?.endpoint.provider.name ?? '', cost, isCharged: candidate !== null }
    }
    try {
      return await withNestedHttpRequest(gateway, outer.httpRequest, nested.signal, (httpRequest) =>
        generate(gateway, { ...outer, httpRequest }, nested, id, onSettled),
      )
    } finally {
      addNestedRequest(outer, { ...line, purpose: 'image_generation', usage: null, id, startedAt })
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
  const parsed = await parse(gateway, outer, nested, newGenerationId())
  const request = { ...parsed, hits: null }
  const plan = excludeUnfit(planRoute(gateway, request), request.media, imagesTask)
  return estimateHold(gateway, request, plan).estimate
}

async function generate(
  gateway: Gateway,
  outer: InferenceRequest,
  nested: NestedImageRequest,
  id: string,
  onSettled: (settled: SettledReply) => void,
) {
  const parsed = await parse(gateway, outer, nested, id)
  const request = { ...(await guardMedia(gateway, parsed)), onSettled: [onSettled] }
  const admission = await releaseOnFailure(gateway, request, () => {
    const plan = excludeUnfit(planRoute(gateway, request), request.media, imagesTask)
    return admit(gateway, request, plan)
  })
  const read = ({ images }: ImagesReply, { model }: MediaReplyContext) => ({
    id,
    model,
    image: requireImage(images),
  })
  return (await executeMedia(gateway, request, admission, imagesTask, read)).encoded
}

function parse(gateway: Gateway, outer: InferenceRequest, nested: NestedImageRequest, id: string) {
  const { caller, region, options, httpRequest, funds } = outer
  const { data_collection, zdr } = options.preferences
  const inherited = omitUndefined({
    provider: omitUndefined({ data_collection, zdr }),
    session_id: options.sessionId ?? undefined,
    user: options.user ?? undefined,
  })
  const body = validateInput(imageRequest, { ...nested.fields, ...inherited }, 'parameters')
  const incoming = {
    id,
    caller,
    region,
    httpRequest,
    body,
    decode: decodeImageBody,
    ...(funds && { outerFunds: funds }),
  }
  return parseMediaRequest(gateway, incoming, imagesTask)
}

function requireImage([image]: readonly GeneratedImage[]): GeneratedImage {
  if (!image) throw unavailableError()
  return image
}
