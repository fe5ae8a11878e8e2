import { z } from 'zod'
import { isTextWireFormat, parameterNames, quantizations } from '../formats/vocabulary.ts'
import type { Endpoint, Model } from './model.ts'
import { publicPricing, toPublicPricing } from './model-record.ts'

export const percentiles = z
  .strictObject({ p50: z.number(), p75: z.number(), p90: z.number(), p99: z.number() })
  .nullable()
  .meta({ id: 'PercentileStats' })

const workload = z.strictObject({
  latency: percentiles,
  throughput: percentiles,
  request_count: z.int().nullable().describe('Completed replies'),
})

/** Negative numbers: why an endpoint is not used, or ranks last. */
export const endpointStatuses = {
  healthy: 0,
  noCredential: -1,
  failing: -2,
  ejected: -3,
  coolingDown: -5,
} as const

/** Statistics of an endpoint from live traffic. */
export interface LiveStats {
  status: (typeof endpointStatuses)[keyof typeof endpointStatuses]
  latency: z.input<typeof percentiles>
  throughput: z.input<typeof percentiles>
  requests: number
  uptime5m: number | null
  uptime30m: number | null
  uptime1d: number | null
}

const uptime = z.number().nullable()

export const endpointRecord = z
  .strictObject({
    name: z.string(),
    model_id: z.string(),
    model_name: z.string(),
    provider_name: z.string(),
    tag: z.string().describe('The name that `provider.order`, `only` and `ignore` select it by'),
    context_length: z.int().describe('0 if unknown'),
    max_completion_tokens: z.int().nullable(),
    max_prompt_tokens: z.int().nullable(),
    pricing: publicPricing,
    quantization: z.enum(quantizations).nullable(),
    status: z
      .literal(Object.values(endpointStatuses))
      .describe(
        '0: available; -1: no credential is configured for the provider; -2: unstable, requests failed within the last 30 seconds and it is tried last; -3: ejected for a while after repeated failures; -5: rate limited and cooling down',
      ),
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
    throughput_last_30m: percentiles.describe('Tokens per second; null without traffic'),
    uptime_last_5m: uptime.describe(
      'Percentage of attempts that did not fail at the endpoint; null for fewer than ten attempts',
    ),
    uptime_last_30m: uptime,
    uptime_last_1d: uptime,
    perf_last_30m_by_workload: z.strictObject({ text_generation: workload.optional() }),
  })
  .meta({ id: 'PublicEndpoint' })

type EndpointRecord = z.input<typeof endpointRecord>

export function toEndpointRecord(model: Model, endpoint: Endpoint, live: LiveStats): EndpointRecord {
  const hasToolChoice = endpoint.supported_parameters.includes('tool_choice')
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
    status: live.status,
    supported_parameters: [...endpoint.supported_parameters],
    supports_implicit_caching:
      endpoint.provider.implicitCaching === true && endpoint.pricing?.input_cache_read !== undefined,
    supports_voice_cloning: false,
    supports_tool_choice: {
      auto: hasToolChoice,
      none: hasToolChoice,
      required: hasToolChoice,
      function: hasToolChoice,
    },
    latency_last_30m: live.latency,
    throughput_last_30m: live.throughput,
    uptime_last_5m: live.uptime5m,
    uptime_last_30m: live.uptime30m,
    uptime_last_1d: live.uptime1d,
    perf_last_30m_by_workload: endpoint.wireFormats.some(isTextWireFormat)
      ? { text_generation: toWorkload(live) }
      : {},
  }
}

function toWorkload({ latency, throughput, requests }: LiveStats): z.input<typeof workload> {
  return { latency, throughput, request_count: requests }
}
