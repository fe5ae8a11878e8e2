import type { Gateway } from '../../gateway/gateway.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import type { NestedRequests } from '../tools/tool.ts'
import { createCallModel, type HandleInferenceFn } from './call-model.ts'
import { createGenerateImage } from './generate-image.ts'

/** The nested requests that plugins and tools can make. */
export function createNestedRequests(
  gateway: Gateway,
  outer: InferenceRequest,
  handleInference: HandleInferenceFn,
): NestedRequests {
  return {
    callModel: createCallModel(gateway, outer, handleInference),
    generateImage: createGenerateImage(gateway, outer),
  }
}
