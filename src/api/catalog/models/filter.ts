import { z } from 'zod'
import { hasOutput, type Model } from '../../../catalog/model.ts'
import { commaListQuery, outputModalitiesQuery } from '../../../catalog/model-list.ts'
import { estimatePerMillion } from '../../../catalog/price.ts'
import {
  categories,
  inputModalities,
  outputModalities,
  parameterNames,
  tokenizerGroups,
} from '../../../formats/vocabulary.ts'
import { maxQueryInteger, queryBoolean } from '../../../platform/validation/query-params.ts'
import type { LiveMetrics } from './live-metrics.ts'

const usdPerMillion = queryNumber({ min: 0 }).optional().describe('In USD per million tokens.')
const index = queryNumber({ min: 0 }).optional()
const rate = queryNumber({ min: 0, max: 1 }).optional()
const days = queryNumber({ min: 0, isInteger: true }).optional()

export const filterQuery = {
  output_modalities: outputModalitiesQuery,
  input_modalities: commaListQuery(inputModalities).optional().describe('Accepts all of these.'),
  supported_parameters: commaListQuery(parameterNames).optional().describe('Supports all of these.'),
  category: z.enum(categories).optional(),
  q: z.string().optional().describe('Words in the id, name or description.'),
  context: queryNumber({ min: 1, isInteger: true }).optional().describe('The minimum context length.'),
  min_price: usdPerMillion,
  max_price: usdPerMillion,
  min_output_price: usdPerMillion,
  max_output_price: usdPerMillion,
  arch: z.enum(tokenizerGroups).optional(),
  model_authors: queryList(),
  providers: queryList(),
  distillable: queryBoolean().optional(),
  zdr: queryBoolean()
    .optional()
    .describe('true lists models with at least one endpoint with zero data retention.'),
  region: z.enum(['eu', 'us']).optional(),
  min_age_days: days,
  max_age_days: days,
  min_intelligence_index: index,
  max_intelligence_index: index,
  min_coding_index: index,
  max_coding_index: index,
  min_agentic_index: index,
  max_agentic_index: index,
  min_tool_success_rate: rate.describe(
    'The minimum share of replies with tool calls in which every call was valid.',
  ),
  max_tool_success_rate: rate,
}

const filterSchema = z.object(filterQuery)
export type Filter = z.output<typeof filterSchema>

type FilterValues = { [Name in keyof Filter]-?: NonNullable<Filter[Name]> }
type FilterRules = {
  [Name in keyof FilterValues]: (model: Model, value: FilterValues[Name], metrics: LiveMetrics) => boolean
}

/** A model with an unknown value does not match. */
const filterRules: FilterRules = {
  // All of them: also models that list none of their own, such as those for moderation.
  output_modalities: (model, value) =>
    value.length === outputModalities.length || value.some((modality) => hasOutput(model, modality)),
  input_modalities: (model, value) => value.every((modality) => model.input_modalities.includes(modality)),
  supported_parameters: (model, value) => value.every((name) => model.supported_parameters.includes(name)),
  category: (model, value) => model.categories.includes(value),
  q: (model, value) => includesWords([model.id, model.name, model.description].join(' '), value),
  context: (model, value) => (model.context_length ?? 0) >= value,
  min_price: (model, value) => (computePricePerMillion(model, 'prompt') ?? -1) >= value,
  max_price: (model, value) => (computePricePerMillion(model, 'prompt') ?? Number.POSITIVE_INFINITY) <= value,
  min_output_price: (model, value) => (computePricePerMillion(model, 'completion') ?? -1) >= value,
  max_output_price: (model, value) =>
    (computePricePerMillion(model, 'completion') ?? Number.POSITIVE_INFINITY) <= value,
  arch: (model, value) => model.tokenizer === value,
  model_authors: (model, value) => value.includes(model.author) || value.includes(model.vendor ?? ''),
  providers: (model, value) => model.endpoints.some(({ provider }) => isNamedProvider(provider, value)),
  distillable: (model, value) => model.distillable === value,
  zdr: (model, value) => !value || model.endpoints.some((endpoint) => !endpoint.data_policy.retains),
  region: (model, value) => model.endpoints.some(({ regions }) => regions.includes(dataRegion[value])),
  min_age_days: (model, value, { now }) => (computeAgeDays(model, now) ?? -1) >= value,
  max_age_days: (model, value, { now }) => (computeAgeDays(model, now) ?? Number.POSITIVE_INFINITY) <= value,
  min_intelligence_index: hasMinIndex('intelligence_index'),
  max_intelligence_index: hasMaxIndex('intelligence_index'),
  min_coding_index: hasMinIndex('coding_index'),
  max_coding_index: hasMaxIndex('coding_index'),
  min_agentic_index: hasMinIndex('agentic_index'),
  max_agentic_index: hasMaxIndex('agentic_index'),
  min_tool_success_rate: (model, value, metrics) => (metrics.getToolSuccess(model) ?? -1) >= value,
  max_tool_success_rate: (model, value, metrics) =>
    (metrics.getToolSuccess(model) ?? Number.POSITIVE_INFINITY) <= value,
}

const dataRegion = { eu: 'europe', us: 'us' } as const

type IndexField = 'intelligence_index' | 'coding_index' | 'agentic_index'
type IndexRule = (model: Model, value: number, metrics: LiveMetrics) => boolean

function hasMinIndex(field: IndexField): IndexRule {
  return (model, value, metrics) => (findIndex(model, field, metrics) ?? -1) >= value
}

function hasMaxIndex(field: IndexField): IndexRule {
  return (model, value, metrics) => (findIndex(model, field, metrics) ?? Number.POSITIVE_INFINITY) <= value
}

export function findIndex(
  model: Model,
  field: IndexField,
  { findBenchmarks }: LiveMetrics,
): number | undefined {
  return findBenchmarks(model)?.artificial_analysis?.[field] ?? undefined
}

export function matchesFilter(model: Model, filter: Filter, metrics: LiveMetrics): boolean {
  return ruleNames.every((name) => passesRule(name, model, filter[name], metrics))
}

function passesRule<Name extends keyof FilterValues>(
  name: Name,
  model: Model,
  value: FilterValues[Name] | undefined,
  metrics: LiveMetrics,
): boolean {
  return value === undefined || filterRules[name](model, value, metrics)
}

const ruleNames = Object.keys(filterRules) as (keyof FilterValues)[]

/** Undefined without a price, or if the price is not per token. */
export function computePricePerMillion(model: Model, key: 'prompt' | 'completion'): number | undefined {
  const { pricing, prompt_unit } = model.top_endpoint
  return pricing && prompt_unit === 'token' ? estimatePerMillion(pricing[key], pricing.discount) : undefined
}

function includesWords(text: string, query: string): boolean {
  const lower = text.toLowerCase()
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word))
}

function isNamedProvider(provider: Model['top_endpoint']['provider'], names: string[]): boolean {
  return [provider.slug, provider.name.toLowerCase(), provider.vendor].some(
    (name) => name !== undefined && names.includes(name),
  )
}

function computeAgeDays(model: Model, now: number): number | undefined {
  return model.created > 0 ? Math.floor((now / 1000 - model.created) / 86_400) : undefined
}

function queryList() {
  return z
    .string()
    .transform((text) => text.split(',').map((name) => name.trim().toLowerCase()))
    .optional()
    .meta({ override: { type: 'string' }, description: 'A comma-separated list.' })
}

function queryNumber({ min, max, isInteger = false }: { min: number; max?: number; isInteger?: boolean }) {
  const kind = isInteger ? 'a whole number' : 'a number'
  const problem =
    max === undefined ? `must be ${kind} of at least ${min}` : `must be ${kind} from ${min} to ${max}`
  return z
    .string()
    .transform((text, context) => {
      const pattern = isInteger ? /^\d{1,15}$/ : /^\d{1,15}(\.\d{1,30})?(e[-+]?\d{1,3})?$/i
      const value = pattern.test(text) ? Number(text) : Number.NaN
      if (value >= min && value <= (max ?? maxQueryInteger)) return value
      context.addIssue({ code: 'custom', message: problem })
      return z.NEVER
    })
    .meta({
      override: {
        type: isInteger ? 'integer' : 'number',
        minimum: min,
        maximum: max ?? maxQueryInteger,
      },
    })
}
