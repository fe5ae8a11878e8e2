/** Search parameters of the list; unset ones have their defaults. */
export interface ModelFilters {
  q?: string
  sort?: ModelSort
  output?: string
  provider?: string
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

export function readFilters(search: Record<string, unknown>): ModelFilters {
  const { q, sort, output, provider, all, page } = search
  return {
    ...(typeof q === 'string' && q && { q }),
    ...(isSort(sort) && { sort }),
    ...(outputs.some(({ value }) => value === output) && { output: String(output) }),
    ...(typeof provider === 'string' && provider && { provider }),
    ...((all === true || all === 'true') && { all: true as const }),
    ...(typeof page === 'number' && Number.isInteger(page) && page > 1 && { page }),
  }
}

export function isSort(value: unknown): value is ModelSort {
  return typeof value === 'string' && Object.hasOwn(sortLabels, value)
}

/** The query of GET /models. */
export function queryOf({ q, sort, output = 'text', provider, all, page = 1 }: ModelFilters) {
  return {
    ...(q && { q }),
    ...(sort && { sort }),
    ...(provider && { providers: provider }),
    ...(all && { include_unavailable: true }),
    output_modalities: output,
    include_providers: true,
    limit: pageSize,
    offset: (page - 1) * pageSize,
  }
}
