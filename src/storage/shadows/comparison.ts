/** One side of a comparison: how a request has ended there. */
export interface ComparedSide {
  /** The generation; null if it has none, such as a request to another gateway. */
  generation_id: string | null
  /** The id of the request in another gateway. */
  external_id: string | null
  model: string
  provider: string
  status: 'completed' | 'failed' | 'cancelled'
  error: string | null
  finish_reason: string | null
  prompt_tokens: number | null
  completion_tokens: number | null
  /** Nano-dollars, as text; null if unknown. */
  cost_nanos: string | null
  latency_ms: number | null
  first_token_ms: number | null
}

export const differenceKinds = [
  'status',
  'error',
  'finish_reason',
  'choices',
  'parts',
  'tool_calls',
  'tool_arguments',
  'json_shape',
  'structured_output',
] as const
export type DifferenceKind = (typeof differenceKinds)[number]

/** What one reply has and the other has not, without any text of either. */
export interface Difference {
  kind: DifferenceKind
  /** Where in the reply; null: the whole of it. */
  path: string | null
  original: string | null
  mirror: string | null
}

/** Whether structured output meets its schema; null where none was requested, or it could not be checked. */
export interface StructuredOutput {
  original: boolean | null
  mirror: boolean | null
}

export interface Comparison {
  original: ComparedSide
  mirror: ComparedSide
  differences: readonly Difference[]
  /** Differences that were not recorded, because there are too many. */
  omitted: number
  structured_output: StructuredOutput
}
