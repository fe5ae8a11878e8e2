import { z } from 'zod'
import type { Endpoint, Model } from './model.ts'
import { publicPricing, toPublicPricing } from './model-record.ts'
import { parameterNames, quantizations } from './vocabulary.ts'

const percentiles = z
  .strictObject({ p50: z.number(), p75: z.number(), p90: z.number(), p99: z.number() })
  .nullable()
  .meta({ id: 'PercentileStats' })

export const endpointRecord = z
  .strictObject({
    name: z.string(),
    model_id: z.string(),
    model_name: z.string(),
    provider_name: z.string(),
    tag: z.string().describe('What `provider.order`, `only` and `ignore` select it by'),
    context_length: z.int().describe('0 where it is not known'),
    max_completion_tokens: z.int().nullable(),
    max_prompt_tokens: z.int().nullable(),
    pricing: publicPricing,
    quantization: z.enum(quantizations).nullable(),
    status: z.int().describe('0: can be called; -1: this installation has no key for the provider'),
    supported_parameters: z.array(z.enum(parameterNames)),
    supports_implicit_caching: z.boolean(),
    supports_voice_cloning: z.boolean(),
    supports_tool_choice: z.strictObject({
      auto: z.boolean(),
      none: z.boolean(),
      required: z.boolean(),
      function: z.boolean(),
    }),
    latency_last_30m: percentiles.describe('Milliseconds to the first token; null without traffic'),
    throughput_last_30m: percentiles.describe('Tokens a second; null without traffic'),
    uptime_last_5m: z.number().nullable(),
    uptime_last_30m: z.number().nullable(),
    uptime_last_1d: z.number().nullable(),
  })
  .meta({ id: 'PublicEndpoint' })

export type EndpointRecord = z.input<typeof endpointRecord>

export function toEndpointRecord(model: Model, endpoint: Endpoint): EndpointRecord {
  const choosesTools = endpoint.supported_parameters.includes('tool_choice')
  return {
    name: `${endpoint.provider.name} | ${model.id}`,
    model_id: model.id,
    model_name: model.name,
    provider_name: endpoint.provider.name,
    tag: endpoint.tag,
    context_length: endpoint.context_length ?? 0,
    max_completion_tokens: endpoint.max_completion_tokens,
    max_prompt_tokens: endpoint.max_prompt_tokens,
    pricing: toPublicPricing(endpoint),
    quantization: endpoint.quantization,
    status: endpoint.provider.enabled ? 0 : -1,
    supported_parameters: [...endpoint.supported_parameters],
    supports_implicit_caching:
      endpoint.provider.implicitCaching === true && endpoint.pricing?.input_cache_read !== undefined,
    supports_voice_cloning: false,
    supports_tool_choice: {
      auto: choosesTools,
      none: choosesTools,
      required: choosesTools,
      function: choosesTools,
    },
    latency_last_30m: null,
    throughput_last_30m: null,
    uptime_last_5m: null,
    uptime_last_30m: null,
    uptime_last_1d: null,
  }
}
