import { readText } from '../../app/search-params.ts'

/** Search parameters of the list; unset ones have their defaults. */
export interface ModelFilters {
  q?: string
  sort?: ModelSort
  output?: string
  provider?: string
  author?: string
  input?: string
  supports?: string
  region?: 'eu' | 'us'
  /** The minimum context length. */
  context?: string
  /** Dollars per million tokens. */
  max_price?: string
  max_output_price?: string
  /** Includes models of providers without a credential. */
  all?: true
  page?: number
}

const sortLabels = {
  newest: 'Newest',
  'most-popular': 'Most used',
  'pricing-low-to-high': 'Cheapest',
  'pricing-high-to-low': 'Most expensive',
  'context-high-to-low': 'Longest context',
  'throughput-high-to-low': 'Fastest',
  'latency-low-to-high': 'Shortest wait',
} as const

type ModelSort = keyof typeof sortLabels

export const sorts = Object.entries(sortLabels).map(([value, label]) => ({ value, label }))

export const outputs = [
  { value: 'text', label: 'Text' },
  { value: 'image', label: 'Images' },
  { value: 'embeddings', label: 'Vectors' },
  { value: 'rerank', label: 'Relevance' },
  { value: 'speech', label: 'Speech' },
  { value: 'transcription', label: 'Transcripts' },
  { value: 'video', label: 'Videos' },
  { value: 'all', label: 'Everything' },
]

export const pageSize = 50

export const inputs = ['text', 'image', 'file', 'audio', 'video'] as const

const patterns = {
  provider: /^.{1,256}$/,
  author: /^.{1,256}$/,
  input: new RegExp(`^(${inputs.join('|')})$`),
  supports: /^[a-z_]{1,64}$/,
  region: /^(eu|us)$/,
  context: /^[1-9]\d{0,8}$/,
  max_price: /^\d{1,6}(\.\d{1,6})?$/,
  max_output_price: /^\d{1,6}(\.\d{1,6})?$/,
} as const

export function readFilters(search: Record<string, unknown>): ModelFilters {
  const { q, sort, output, all, page } = search
  const texts = Object.entries(patterns).flatMap(([name, pattern]) => {
    const text = readText(search[name])
    return text !== undefined && pattern.test(text) ? [[name, text]] : []
  })
  return {
    ...(typeof q === 'string' && q && { q }),
    ...(isSort(sort) && { sort }),
    ...(outputs.some(({ value }) => value === output) && { output: String(output) }),
    ...Object.fromEntries(texts),
    ...((all === true || all === 'true') && { all: true as const }),
    ...(typeof page === 'number' && Number.isInteger(page) && page > 1 && { page }),
  }
}

export function isSort(value: unknown): value is ModelSort {
  return typeof value === 'string' && Object.hasOwn(sortLabels, value)
}

/** The query of GET /models. */
export function queryOf({ output = 'text', page = 1, ...filters }: ModelFilters) {
  const { q, sort, provider, author, input, supports, region, context, all } = filters
  const { max_price, max_output_price } = filters
  return {
    ...(q && { q }),
    ...(sort && { sort }),
    ...(provider && { providers: provider }),
    ...(author && { model_authors: author }),
    ...(input && { input_modalities: input }),
    ...(supports && { supported_parameters: supports }),
    ...(region && { region }),
    ...(context && { context: Number(context) }),
    ...(max_price && { max_price: Number(max_price) }),
    ...(max_output_price && { max_output_price: Number(max_output_price) }),
    ...(all && { include_unavailable: true }),
    output_modalities: output,
    include_providers: true,
    limit: pageSize,
    offset: (page - 1) * pageSize,
  }
}
