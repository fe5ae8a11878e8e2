import type { Gateway } from '../../app/gateway.ts'
import type { NestedRequests } from '../../tools/tool.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import { createAskModel, type HandleInferenceFn } from './ask-model.ts'
import { createGenerateImage } from './generate-image.ts'

/** What the plugins and tools of a request may ask for on its behalf. */
export function createNestedRequests(
  gateway: Gateway,
  outer: InferenceRequest,
  handleInference: HandleInferenceFn,
): NestedRequests {
  return {
    askModel: createAskModel(gateway, outer, handleInference),
    generateImage: createGenerateImage(gateway, outer),
  }
}
