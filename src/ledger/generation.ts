import { type Charge, reportedCostToNanos } from './charge.ts'
import type { Draft, Generation, UpstreamTarget } from './draft.ts'
import { generationColumns } from './tables.ts'

/** What is known before it is written; the ledger itself adds the rest. */
const providedColumns = generationColumns.slice(0, -2) as (keyof Generation)[]

/** What a generation is put together from, without being copied into one object for every request. */
export interface GenerationParts {
  draft: Draft['generation']
  target: Omit<UpstreamTarget, 'pricing'>
  tokens: ReturnType<typeof toUsageColumns>
  end: Omit<
    Generation,
    keyof Draft['generation'] | keyof UpstreamTarget | keyof ReturnType<typeof toUsageColumns>
  >
}

/** In which part each column is: the same for all. */
let partByColumn: (keyof GenerationParts)[] | undefined

/** A plain loop: this runs for every column of every reply. */
export function encodeGeneration(parts: GenerationParts): unknown[] {
  partByColumn ??= mapColumnsToParts(parts)
  const values: unknown[] = []
  for (let index = 0; index < providedColumns.length; index++) {
    const part: Partial<Generation> = parts[partByColumn[index] as keyof GenerationParts]
    const value = part[providedColumns[index] as keyof Generation]
    values.push(typeof value === 'bigint' ? String(value) : value)
  }
  return values
}

function mapColumnsToParts(parts: GenerationParts): (keyof GenerationParts)[] {
  const names = Object.keys(parts) as (keyof GenerationParts)[]
  return providedColumns.map((column) => {
    const part = names.find((name) => column in parts[name])
    if (!part) throw new Error(`no part of a generation has ${column}`)
    return part
  })
}

export function toUsageColumns({ usage, source, cost, upstream }: Charge) {
  return {
    tokens_input: usage.input,
    tokens_cache_read: usage.cacheRead,
    tokens_cache_read_audio: usage.cacheReadAudio,
    tokens_cache_write: usage.cacheWrite,
    tokens_cache_write_1h: usage.cacheWrite1h,
    tokens_input_audio: usage.inputAudio,
    tokens_input_image: usage.inputImage,
    tokens_input_video: usage.inputVideo,
    tokens_output: usage.output,
    tokens_reasoning: usage.reasoning,
    tokens_output_audio: usage.outputAudio,
    tokens_output_image: usage.outputImage,
    web_searches: usage.webSearches,
    usage_source: source,
    cost_nanos: cost,
    upstream_cost_nanos: upstream,
    reported_cost_nanos: reportedCostToNanos(usage.reportedCost),
  }
}
