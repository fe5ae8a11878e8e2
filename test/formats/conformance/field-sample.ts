import type { JsonObject } from '../../../src/platform/json/json-values.ts'

/** A body that uses a field, and the same body without it. */
export interface FieldSample {
  used: JsonObject
  unused?: JsonObject
}

export interface FieldTable {
  /** A body with required fields only. */
  minimalBody: JsonObject
  /** Fields that the gateway handles itself and never sends to an upstream. */
  gatewayFields: readonly string[]
  samples: Record<string, FieldSample>
}

export const schema = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] }

/** Fields for routing, sessions, presets, the response cache and the form of the reply, read by the pipeline. */
export const pipelineFields = [
  ...['model', 'models', 'provider', 'route', 'session_id', 'trace', 'stream', 'preset', 'fallbacks'],
  ...[
    'cache_enabled',
    'cache_ttl_seconds',
    'cache_mode',
    'cache_scope',
    'cache_threshold',
    'plugins',
    'transforms',
  ],
]

export const unimplementedSamples = {
  stop_server_tools_when: {
    used: { stop_server_tools_when: [{ type: 'step_count_is', step_count: 2 }] },
  },
  max_tool_calls: { used: { max_tool_calls: 2 } },
}

export const commonSamples = {
  modalities: { used: { modalities: ['text', 'audio'] } },
  image_config: { used: { image_config: { aspect_ratio: '1:1' } } },
  prompt_cache_key: { used: { prompt_cache_key: 'k' } },
  prompt_cache_options: { used: { prompt_cache_options: { mode: 'x' } } },
  debug: { used: { debug: { echo_upstream_body: true } } },
}

export const cacheSamples = {
  cache_control: { used: { cache_control: { type: 'ephemeral' } } },
  'cache_control.type': { used: { cache_control: { type: 'ephemeral' } } },
  'cache_control.ttl': {
    used: { cache_control: { type: 'ephemeral', ttl: '24h' } },
    unused: { cache_control: { type: 'ephemeral' } },
  },
}

const lowEffort = { reasoning: { effort: 'low' } }
export const reasoningSamples = {
  reasoning: { used: lowEffort },
  'reasoning.effort': { used: lowEffort },
  'reasoning.summary': { used: { reasoning: { effort: 'low', summary: 'detailed' } }, unused: lowEffort },
  'reasoning.enabled': { used: { reasoning: { enabled: true } } },
  'reasoning.max_tokens': { used: { reasoning: { max_tokens: 2048 } } },
  'reasoning.context': { used: { reasoning: { effort: 'low', context: 'all_turns' } }, unused: lowEffort },
  'reasoning.mode': { used: { reasoning: { effort: 'low', mode: 'pro' } }, unused: lowEffort },
}

export function createSample(name: string, value: unknown): Record<string, FieldSample> {
  return { [name]: { used: { [name]: value } } }
}
