import { z } from 'zod'
import {
  inputModalities,
  instructTypes,
  outputModalities,
  parameterNames,
  tokenizerGroups,
} from '../formats/vocabulary.ts'
import { defaultParameters, reasoning } from './declared-model.ts'
import type { ResolvedModel } from './lookup.ts'
import type { Endpoint, Model } from './model.ts'
import { type Pricing, pricing } from './price.ts'

/** An unknown price in the API: 0 would mean free. */
const unknownPrice = '-1'

const wirePrice = z
  .string()
  .regex(/^(-1|\d+(\.\d+)?)$/)
  .describe('USD per unit, exact; -1 where no price is known')

export const publicPricing = pricing
  .extend({ prompt: wirePrice, completion: wirePrice })
  .meta({ id: 'PublicPricing' })

export const architectureFields = {
  modality: z.string().nullable(),
  input_modalities: z.array(z.enum(inputModalities)),
  output_modalities: z.array(z.enum(outputModalities)),
  instruct_type: z.enum(instructTypes).nullable(),
  tokenizer: z.enum(tokenizerGroups),
}

const index = z.number().nullable()

const modelBenchmarks = z
  .strictObject({
    artificial_analysis: z
      .strictObject({ agentic_index: index, coding_index: index, intelligence_index: index })
      .optional(),
    design_arena: z.array(
      z.strictObject({
        arena: z.string(),
        category: z.string(),
        elo: z.number(),
        rank: z.int().describe('Among the models of this installation in the category'),
        win_rate: z.number().describe('In percent'),
      }),
    ),
  })
  .meta({ id: 'ModelBenchmarks' })

export type ModelBenchmarks = z.output<typeof modelBenchmarks>

/** The model of the API, plus the field names that other vendors' clients read. */
export const modelRecord = z
  .strictObject({
    id: z.string(),
    canonical_slug: z.string(),
    name: z.string(),
    description: z.string(),
    created: z
      .int()
      .describe('Unix time of the release; where that is not known, of when the model was listed here'),
    context_length: z.int().nullable(),
    architecture: z.strictObject(architectureFields),
    pricing: publicPricing,
    top_provider: z.strictObject({
      context_length: z.int().nullable(),
      max_completion_tokens: z.int().nullable(),
      is_moderated: z.boolean(),
    }),
    providers: z
      .array(z.string())
      .optional()
      .describe('The slugs of the providers that offer it; only with `include_providers`.'),
    per_request_limits: z
      .strictObject({ prompt_tokens: z.number(), completion_tokens: z.number() })
      .nullable(),
    supported_parameters: z.array(z.enum(parameterNames)),
    default_parameters: defaultParameters.nullable(),
    supported_voices: z.array(z.string()).nullable(),
    links: z.strictObject({ details: z.string() }),
    alias_target: z.strictObject({ slug: z.string(), name: z.string() }).optional(),
    expiration_date: z.iso.date().nullable(),
    replacement: z.string().optional().describe('The model that requests move to on the expiration date'),
    knowledge_cutoff: z.iso.date().nullable(),
    model_hub_id: z.string().nullable(),
    reasoning: reasoning.optional(),
    benchmarks: modelBenchmarks.optional().describe('Imported rankings; absent if there are none'),
    object: z.literal('model'),
    type: z.literal('model'),
    created_at: z.string(),
    display_name: z.string(),
    owned_by: z.string(),
  })
  .meta({ id: 'Model' })

type ModelRecord = z.input<typeof modelRecord>

export function toModelRecord(
  model: Model,
  latest: ResolvedModel['latest'] = null,
  benchmarks?: ModelBenchmarks,
): ModelRecord {
  const id = latest ?? model.id
  return {
    id,
    canonical_slug: model.canonical_slug,
    name: model.name,
    description: model.description,
    created: model.listed_at,
    context_length: model.context_length,
    architecture: toArchitecture(model),
    pricing: toPublicPricing(model.top_endpoint),
    top_provider: {
      context_length: model.top_endpoint.context_length,
      max_completion_tokens: model.top_endpoint.max_completion_tokens,
      is_moderated: false,
    },
    per_request_limits: model.per_request_limits,
    supported_parameters: [...model.supported_parameters],
    default_parameters: model.default_parameters,
    supported_voices: model.supported_voices,
    links: { details: `/api/v1/models/${id}/endpoints` },
    ...(latest && { alias_target: { slug: model.id, name: model.name } }),
    expiration_date: model.expiration_date,
    ...(model.replacement !== null && { replacement: model.replacement }),
    knowledge_cutoff: model.knowledge_cutoff,
    model_hub_id: model.model_hub_id,
    ...(model.reasoning && { reasoning: model.reasoning }),
    ...(benchmarks && { benchmarks }),
    ...toVendorAliases(model),
  }
}

function toVendorAliases(model: Model) {
  return {
    object: 'model' as const,
    type: 'model' as const,
    created_at: new Date(model.listed_at * 1000).toISOString(),
    display_name: model.name,
    owned_by: model.author,
  }
}

export function toArchitecture(model: Model) {
  const { input_modalities, output_modalities } = model
  return {
    modality: `${input_modalities.join('+')}->${output_modalities.join('+')}`,
    input_modalities: [...input_modalities],
    output_modalities: [...output_modalities],
    instruct_type: model.instruct_type,
    tokenizer: model.tokenizer,
  }
}

/** Converts prices for the API. Token prices of a model that is billed by other units are 0, not unknown. */
export function toPublicPricing({ pricing, prompt_unit }: Endpoint): Pricing {
  if (!pricing) return { prompt: unknownPrice, completion: unknownPrice }
  const { units, ...tokens } = pricing
  const prompt = units?.find(({ unit }) => unit === prompt_unit)?.cost_usd
  return prompt === undefined ? tokens : { ...tokens, prompt }
}
