import { z } from 'zod'
import { attemptPolicyFields } from '../formats/schema/attempt-policy.ts'
import { reasonFallbacks } from '../formats/schema/fallbacks.ts'
import {
  categories,
  dataRegions,
  dynamicVariants,
  inputModalities,
  instructTypes,
  outputModalities,
  type ParameterName,
  parameterNames,
  quantizations,
  reasoningEfforts,
  serviceTiers,
  speechFields,
  speechFormats,
  tokenizerGroups,
  videoAspectRatios,
  videoResolutions,
  wireFormatNames,
} from '../formats/vocabulary.ts'
import { lineField } from '../platform/validation/name-schema.ts'
import { decimalPrice, pricing } from './price.ts'
import { declaredRateLimits } from './rate-limits.ts'

const modelIdPattern = /^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*(:[a-z0-9-]+)?$/

const modelId = z
  .string()
  .regex(modelIdPattern, 'must be author/name, with a suffix such as :free if it is a variant')
  .refine(
    (id) => !dynamicVariants.has(id.split(':')[1] ?? ''),
    'ends in a suffix that is reserved for routing; choose another id',
  )

const count = z.int().positive()
const date = z.iso.date('must be a date such as 2027-01-31')

/** Unix time, or a date. */
const created = z.union([
  z.int().min(0),
  date.transform((day) => Date.parse(`${day}T00:00:00Z`) / 1000).pipe(z.int()),
])

export const dataPolicy = z.strictObject({
  training: z.boolean().default(true),
  retains: z.boolean().default(true),
  publishes: z.boolean().default(false),
})

/** The allowed values of one parameter of image requests. */
export const capability = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('boolean') }),
  z.strictObject({ type: z.literal('enum'), values: z.array(z.string()).min(1) }),
  z.strictObject({ type: z.literal('range'), min: z.number(), max: z.number() }),
])

export const imagePriceFields = {
  billable: z.enum(['output_image', 'input_image', 'input_font', 'input_reference', 'input_text']),
  unit: z.enum(['request', 'image', 'megapixel', 'token']),
  variant: z.string().min(1).optional(),
}

export const imageCapabilities = z.strictObject({
  supported_parameters: z.record(z.string().min(1), capability).default({}),
  allowed_passthrough_parameters: z.array(z.string().min(1)).default([]),
  supports_streaming: z.boolean().default(false),
  pricing: z.array(z.strictObject({ ...imagePriceFields, cost_usd: decimalPrice })).default([]),
})

export const videoFields = {
  supported_aspect_ratios: z.array(z.enum(videoAspectRatios)).nullable(),
  supported_durations: z.array(count).nullable(),
  supported_frame_images: z.array(z.enum(['first_frame', 'last_frame'])).nullable(),
  supported_resolutions: z.array(z.enum(videoResolutions)).nullable(),
  supported_sizes: z.array(z.string().regex(/^\d+x\d+$/, 'must be WxH')).nullable(),
  creativity: z.array(z.int()).nullable(),
  generate_audio: z.boolean().nullable(),
  seed: z.boolean().nullable(),
  upscale_factor: z.strictObject({ min: z.number().nullable(), max: z.number().nullable() }).nullable(),
}

/** `per_second`, `per_second_1080p`, `per_second_720p_with_audio`, `per_video`, `per_token`. */
export const videoSkuPattern =
  /^per_(second|video|token)(?:_((?:(?:360p|480p|720p|768p|1080p|1K|2K|4K)(?:_with(?:out)?_audio)?)|with(?:out)?_audio))?$/
const videoSkuProblem =
  'must be per_second, per_video or per_token, with a resolution and with_audio or without_audio if the price depends on them'

export const videoCapabilities = z
  .strictObject(videoFields)
  .partial()
  .extend({
    allowed_passthrough_parameters: z.array(z.string().min(1)).default([]),
    /** Prices by name: a second of 720p, a whole video, ... */
    pricing_skus: z.record(z.string().regex(videoSkuPattern, videoSkuProblem), decimalPrice).optional(),
  })

/** Speech settings. Those of an endpoint override those of its model and its provider, field by field. */
export const speechTraits = z.strictObject({
  /** Audio formats; by default, every format that the wire format can request. */
  formats: z.array(z.enum(speechFormats)).min(1).optional(),
  /** Voices; by default, the model's `supported_voices`. */
  voices: z.array(z.string().min(1)).min(1).optional(),
  /** The listed voices are examples: any other is sent to the provider, which may have custom or cloned ones. */
  accepts_unlisted_voices: z.boolean().optional(),
  /** The voice of requests that name none. Without it they are rejected. */
  default_voice: z.string().min(1).optional(),
  /** Dropped and reported. */
  unsupported_fields: z.array(z.enum(speechFields)).optional(),
  /** Accepts a recording to imitate. */
  supports_voice_cloning: z.boolean().optional(),
  /** Reports tokens if the reply is requested as events. */
  reports_usage: z.boolean().optional(),
})
export type SpeechTraits = z.output<typeof speechTraits>

export const transcriptionTraits = z.strictObject({
  /** Distinguishes speakers; by default, as models of its wire format usually do. */
  supports_diarization: z.boolean().optional(),
})

export const reasoning = z.strictObject({
  mandatory: z.boolean(),
  default_enabled: z.boolean().optional(),
  default_effort: z.enum(reasoningEfforts).nullable().optional(),
  supported_efforts: z.array(z.enum(reasoningEfforts)).nullable().optional(),
  supports_max_tokens: z.literal(true).optional(),
})

export const defaultParameters = z.strictObject({
  frequency_penalty: z.number().nullable().optional(),
  presence_penalty: z.number().nullable().optional(),
  repetition_penalty: z.number().nullable().optional(),
  temperature: z.number().nullable().optional(),
  top_k: z.int().nullable().optional(),
  top_p: z.number().nullable().optional(),
})

export const declaredEndpoint = z.strictObject({
  provider: z.string().min(1),
  upstream_model: z.string().min(1),
  /** Distinguishes endpoints of one provider: `turbo` makes the tag `provider/turbo`. */
  variant: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]*$/)
    .optional(),
  /** A tier with its own prices, used only by requests that select it. Also the variant, unless that is set. */
  service_tier: z.enum(serviceTiers).optional(),
  context_length: count.optional(),
  max_completion_tokens: count.optional(),
  max_prompt_tokens: count.optional(),
  quantization: z.enum(quantizations).optional(),
  supported_parameters: z.array(z.enum(parameterNames)).optional(),
  /** Prices. If absent, the price is unknown, which is not the same as free. */
  pricing: pricing.optional(),
  /** The unit of `pricing.prompt`. */
  prompt_unit: z.enum(['token', 'character', 'second', 'search']).default('token'),
  /** The provider's, unless this model supports fewer. */
  dialects: z.array(z.enum(wireFormatNames)).min(1).optional(),
  regions: z.array(z.enum(dataRegions)).min(1).optional(),
  data_policy: dataPolicy.optional(),
  image: imageCapabilities.optional(),
  video: videoCapabilities.optional(),
  speech: speechTraits.optional(),
  transcription: transcriptionTraits.optional(),
  /** What the provider allows this endpoint with the installation's credential. */
  rate_limits: declaredRateLimits.optional(),
  ...attemptPolicyFields,
})

/** Parameters that every OpenAI-compatible server supports; tools are not among them. */
export const commonParameters: readonly ParameterName[] = [
  'max_tokens',
  'temperature',
  'top_p',
  'stop',
  'frequency_penalty',
  'presence_penalty',
  'seed',
]

/** A model as headgate.yaml, the snapshot and the providers declare it. */
export const declaredModel = z.strictObject({
  id: modelId,
  name: lineField(300),
  canonical_slug: modelId.optional(),
  description: z.string().default(''),
  aliases: z.array(z.string().min(1)).default([]),
  created: created.default(0),
  context_length: count.nullable().default(null),
  input_modalities: z.array(z.enum(inputModalities)).min(1).optional(),
  output_modalities: z.array(z.enum(outputModalities)).min(1).default(['text']),
  tokenizer: z.enum(tokenizerGroups).default('Other'),
  instruct_type: z.enum(instructTypes).nullable().default(null),
  supported_parameters: z.array(z.enum(parameterNames)).optional(),
  supported_voices: z.array(z.string().min(1)).nullable().default(null),
  default_parameters: defaultParameters.nullable().default(null),
  per_request_limits: z
    .strictObject({ prompt_tokens: count, completion_tokens: count })
    .nullable()
    .default(null),
  reasoning: reasoning.optional(),
  knowledge_cutoff: date.nullable().default(null),
  expiration_date: date.nullable().default(null),
  /** The model that requests move to on the expiration date. */
  replacement: modelId.nullable().default(null),
  model_hub_id: z.string().min(1).nullable().default(null),
  categories: z.array(z.enum(categories)).default([]),
  distillable: z.boolean().default(false),
  image: imageCapabilities.optional(),
  video: videoCapabilities.optional(),
  speech: speechTraits.optional(),
  transcription: transcriptionTraits.optional(),
  ...attemptPolicyFields,
  /** The models that serve a request which this one cannot, by reason. */
  fallbacks: reasonFallbacks.optional(),
  endpoints: z.array(declaredEndpoint).min(1),
})

export type DeclaredModel = z.output<typeof declaredModel>
export type DeclaredEndpoint = DeclaredModel['endpoints'][number]
export type ModelDeclaration = z.input<typeof declaredModel>

/** `provider` or `provider/variant`: what requests select an endpoint by. */
export function tagOf({
  provider,
  variant,
  service_tier,
}: Pick<DeclaredEndpoint, 'provider' | 'variant' | 'service_tier'>): string {
  const last = variant ?? service_tier
  return last ? `${provider}/${last}` : provider
}
