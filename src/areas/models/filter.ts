import { z } from 'zod'
import type { Model } from '../../catalog/model.ts'
import { outputModalitiesQuery, queryWords } from '../../catalog/model-list.ts'
import { approximatePerMillion } from '../../catalog/price.ts'
import { categories, inputModalities, parameterNames, tokenizerGroups } from '../../catalog/vocabulary.ts'
import { mostDigits, queryBoolean } from '../../lib/page.ts'
import type { Measured } from './measured.ts'

const usdPerMillion = queryNumber({ min: 0 }).optional().describe('USD per million tokens')
const index = queryNumber({ min: 0 }).optional()
const rate = queryNumber({ min: 0, max: 1 }).optional()
const days = queryNumber({ min: 0, whole: true }).optional()

export const filterQuery = {
  output_modalities: outputModalitiesQuery,
  input_modalities: queryWords(inputModalities).optional().describe('Takes all of these'),
  supported_parameters: queryWords(parameterNames).optional().describe('Supports all of these'),
  category: z.enum(categories).optional(),
  q: z.string().optional().describe('Words in the id, name or description'),
  context: queryNumber({ min: 1, whole: true }).optional().describe('The least context length'),
  min_price: usdPerMillion,
  max_price: usdPerMillion,
  min_output_price: usdPerMillion,
  max_output_price: usdPerMillion,
  arch: z.enum(tokenizerGroups).optional(),
  model_authors: queryNames(),
  providers: queryNames(),
  distillable: queryBoolean().optional(),
  zdr: queryBoolean().optional().describe('true: at least one endpoint keeps nothing'),
  region: z.enum(['eu', 'us']).optional(),
  min_age_days: days,
  max_age_days: days,
  min_intelligence_index: index,
  max_intelligence_index: index,
  min_coding_index: index,
  max_coding_index: index,
  min_agentic_index: index,
  max_agentic_index: index,
  min_tool_success_rate: rate.describe('Of replies with tool calls, the share in which every call was right'),
  max_tool_success_rate: rate,
}

const filterSchema = z.object(filterQuery)
export type Filter = z.output<typeof filterSchema>

type Wanted = { [Name in keyof Filter]-?: NonNullable<Filter[Name]> }
type Rules = { [Name in keyof Wanted]: (model: Model, wanted: Wanted[Name], measured: Measured) => boolean }

/** Nobody has measured it: what asks for a measure finds nothing. */
const notMeasured = () => false

/** A model of which the thing asked for is not known does not pass. */
const rules: Rules = {
  output_modalities: (model, wanted) => wanted.some((modality) => model.output_modalities.includes(modality)),
  input_modalities: (model, wanted) => wanted.every((modality) => model.input_modalities.includes(modality)),
  supported_parameters: (model, wanted) => wanted.every((name) => model.supported_parameters.includes(name)),
  category: (model, wanted) => model.categories.includes(wanted),
  q: (model, wanted) => includesWords([model.id, model.name, model.description].join(' '), wanted),
  context: (model, wanted) => (model.context_length ?? 0) >= wanted,
  min_price: (model, wanted) => (pricePerMillion(model, 'prompt') ?? -1) >= wanted,
  max_price: (model, wanted) => (pricePerMillion(model, 'prompt') ?? Number.POSITIVE_INFINITY) <= wanted,
  min_output_price: (model, wanted) => (pricePerMillion(model, 'completion') ?? -1) >= wanted,
  max_output_price: (model, wanted) =>
    (pricePerMillion(model, 'completion') ?? Number.POSITIVE_INFINITY) <= wanted,
  arch: (model, wanted) => model.tokenizer === wanted,
  model_authors: (model, wanted) => wanted.includes(model.author) || wanted.includes(model.vendor ?? ''),
  providers: (model, wanted) => model.endpoints.some(({ provider }) => namesProvider(provider, wanted)),
  distillable: (model, wanted) => model.distillable === wanted,
  zdr: (model, wanted) => !wanted || model.endpoints.some((endpoint) => !endpoint.data_policy.retains),
  region: (model, wanted) => model.endpoints.some(({ regions }) => regions.includes(dataRegion[wanted])),
  min_age_days: (model, wanted, { now }) => (ageInDays(model, now) ?? -1) >= wanted,
  max_age_days: (model, wanted, { now }) => (ageInDays(model, now) ?? Number.POSITIVE_INFINITY) <= wanted,
  min_intelligence_index: notMeasured,
  max_intelligence_index: notMeasured,
  min_coding_index: notMeasured,
  max_coding_index: notMeasured,
  min_agentic_index: notMeasured,
  max_agentic_index: notMeasured,
  min_tool_success_rate: (model, wanted, measured) => (measured.toolSuccess(model) ?? -1) >= wanted,
  max_tool_success_rate: (model, wanted, measured) =>
    (measured.toolSuccess(model) ?? Number.POSITIVE_INFINITY) <= wanted,
}

const dataRegion = { eu: 'europe', us: 'us' } as const

export function matches(model: Model, filter: Filter, measured: Measured): boolean {
  return ruleNames.every((name) => passes(name, model, filter[name], measured))
}

function passes<Name extends keyof Wanted>(
  name: Name,
  model: Model,
  wanted: Wanted[Name] | undefined,
  measured: Measured,
): boolean {
  return wanted === undefined || rules[name](model, wanted, measured)
}

const ruleNames = Object.keys(rules) as (keyof Wanted)[]

/** Undefined where there is no price, or none that is asked per token. */
export function pricePerMillion(model: Model, key: 'prompt' | 'completion'): number | undefined {
  const { pricing, prompt_unit } = model.top
  return pricing && prompt_unit === 'token'
    ? approximatePerMillion(pricing[key], pricing.discount)
    : undefined
}

function includesWords(text: string, query: string): boolean {
  const lower = text.toLowerCase()
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word))
}

function namesProvider(provider: Model['top']['provider'], names: string[]): boolean {
  return [provider.slug, provider.name.toLowerCase(), provider.vendor].some(
    (name) => name !== undefined && names.includes(name),
  )
}

function ageInDays(model: Model, now: number): number | undefined {
  return model.created > 0 ? Math.floor((now / 1000 - model.created) / 86_400) : undefined
}

function queryNames() {
  return z
    .string()
    .transform((text) => text.split(',').map((name) => name.trim().toLowerCase()))
    .optional()
    .meta({ override: { type: 'string' }, description: 'A comma-separated list' })
}

function queryNumber({ min, max, whole = false }: { min: number; max?: number; whole?: boolean }) {
  const kind = whole ? 'a whole number' : 'a number'
  const problem =
    max === undefined ? `must be ${kind} of at least ${min}` : `must be ${kind} from ${min} to ${max}`
  return z
    .string()
    .transform((text, context) => {
      const pattern = whole ? /^\d{1,15}$/ : /^\d{1,15}(\.\d{1,30})?(e[-+]?\d{1,3})?$/i
      const value = pattern.test(text) ? Number(text) : Number.NaN
      if (value >= min && value <= (max ?? mostDigits)) return value
      context.addIssue({ code: 'custom', message: problem })
      return z.NEVER
    })
    .meta({
      override: {
        type: whole ? 'integer' : 'number',
        minimum: min,
        maximum: max ?? mostDigits,
      },
    })
}
