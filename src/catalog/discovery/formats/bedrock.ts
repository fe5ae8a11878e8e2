import { asObjects, asString } from '../../../platform/json/json-values.ts'
import { type ModelListFormat, resolvePath } from '../model-list-format.ts'
import { optional, readInputs } from './fields.ts'

/** ListFoundationModels, at the host of the control plane: the models that generate text. */
export const bedrockList: ModelListFormat = {
  buildUrl: (baseUrl) =>
    resolvePath(baseUrl, '/foundation-models').replace('//bedrock-runtime.', '//bedrock.'),
  decode: (body) => ({
    models: asObjects(body.modelSummaries).flatMap((entry) => {
      const id = asString(entry.modelId)
      const isText = Array.isArray(entry.outputModalities) && entry.outputModalities.includes('TEXT')
      if (!id || !isText) return []
      // Others are called through the inference profile of the region.
      const isOnDemand =
        Array.isArray(entry.inferenceTypesSupported) && entry.inferenceTypesSupported.includes('ON_DEMAND')
      return [
        {
          id: isOnDemand ? id : `regional.${id}`,
          ...optional('name', asString(entry.modelName)),
          ...optional('input_modalities', readInputs(entry.inputModalities)),
        },
      ]
    }),
    next: null,
  }),
}
