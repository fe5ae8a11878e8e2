import { type Charge, reportedNanos } from './charge.ts'
import type { Generation } from './draft.ts'
import { generationColumns } from './tables.ts'

/** What is known before it is written; the ledger itself adds the rest. */
const given = generationColumns.slice(0, -2) as (keyof Generation)[]

/** A plain loop: this runs for every column of every reply. */
export function generationValues(row: Generation): unknown[] {
  const values: unknown[] = []
  for (const column of given) {
    const value = row[column]
    values.push(typeof value === 'bigint' ? String(value) : value)
  }
  return values
}

export function tokensOf({ usage, source, cost, list }: Charge) {
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
    upstream_cost_nanos: list.total,
    reported_cost_nanos: reportedNanos(usage.reportedCost),
  }
}
