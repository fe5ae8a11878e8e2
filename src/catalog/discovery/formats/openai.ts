import { asObject, asObjects, asString, type JsonObject } from '../../../platform/json/json-values.ts'
import type { ListedModel } from '../listed-model.ts'
import type { ModelListFormat } from '../model-list-format.ts'
import { findCount, optional, readInputs, readOutputs, readPricing } from './fields.ts'

/** `GET /models` of OpenAI, and what vLLM, Groq, Mistral and OpenRouter add to it. */
export const openaiList: ModelListFormat = {
  buildUrl: (baseUrl) => `${baseUrl.replace(/\/+$/, '')}/models`,
  decode: (body) => ({ models: asObjects(body.data).flatMap(toListedModel), next: null }),
}

function toListedModel(entry: JsonObject): ListedModel[] {
  const id = asString(entry.id)
  if (!id) return []
  const architecture = asObject(entry.architecture)
  const top = asObject(entry.top_provider)
  const context = findCount(
    entry.max_model_len,
    entry.context_length,
    entry.context_window,
    entry.max_context_length,
  )
  return [
    {
      id,
      ...optional('name', asString(entry.name)),
      ...optional('context_length', context),
      ...optional(
        'max_completion_tokens',
        findCount(top?.max_completion_tokens, entry.max_completion_tokens),
      ),
      ...optional('input_modalities', readInputs(architecture?.input_modalities)),
      ...optional('output_modalities', readOutputs(architecture?.output_modalities)),
      ...optional('pricing', readPricing(entry.pricing)),
    },
  ]
}
