import { type Charge, reportedNanos } from './charge.ts'
import type { Draft, Generation, Place } from './draft.ts'
import { generationColumns } from './tables.ts'

/** What is known before it is written; the ledger itself adds the rest. */
const given = generationColumns.slice(0, -2) as (keyof Generation)[]

/** What a generation is put together from, without being copied into one object for every request. */
export interface GenerationParts {
  draft: Draft['generation']
  place: Omit<Place, 'pricing'>
  tokens: ReturnType<typeof tokensOf>
  end: Omit<Generation, keyof Draft['generation'] | keyof Place | keyof ReturnType<typeof tokensOf>>
}

/** In which part each column is: the same for all. */
let homes: (keyof GenerationParts)[] | undefined

/** A plain loop: this runs for every column of every reply. */
export function generationValues(parts: GenerationParts): unknown[] {
  homes ??= homesOf(parts)
  const values: unknown[] = []
  for (let place = 0; place < given.length; place++) {
    const part: Partial<Generation> = parts[homes[place] as keyof GenerationParts]
    const value = part[given[place] as keyof Generation]
    values.push(typeof value === 'bigint' ? String(value) : value)
  }
  return values
}

function homesOf(parts: GenerationParts): (keyof GenerationParts)[] {
  const names = Object.keys(parts) as (keyof GenerationParts)[]
  return given.map((column) => {
    const home = names.find((name) => column in parts[name])
    if (!home) throw new Error(`no part of a generation has ${column}`)
    return home
  })
}

export function tokensOf({ usage, source, cost, upstream }: Charge) {
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
    reported_cost_nanos: reportedNanos(usage.reportedCost),
  }
}
