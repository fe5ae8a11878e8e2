import { asObject, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import type { WireAdapter } from '../provider.ts'

/** Fields that its API does not have: it answers 422 (`extra_forbidden`) to a request with one. */
export const mistralUnsupported: readonly string[] = [
  ...['top_k', 'min_p', 'top_a', 'repetition_penalty', 'logit_bias', 'logprobs', 'top_logprobs'],
  ...['verbosity', 'modalities', 'audio', 'image_config', 'cache_control', 'web_search_options'],
  ...['user', 'safety_identifier', 'store'],
]

/** Names the seed `random_seed`, and accepts a last message of the assistant only with `prefix`. */
export const mistralChat: WireAdapter = {
  adaptRequest: ({ path, headers, body: { seed, ...body } }) => ({
    path,
    headers,
    body: { ...body, ...omitUndefined({ random_seed: seed }), ...markPrefix(body.messages) },
  }),
}

function markPrefix(messages: unknown): JsonObject {
  const last = Array.isArray(messages) ? asObject(messages.at(-1)) : undefined
  if (!Array.isArray(messages) || last?.role !== 'assistant') return {}
  return { messages: messages.with(-1, { ...last, prefix: true }) }
}
