import type { GenerationEvent } from './event.ts'
import { toEventJson } from './event-json.ts'

type ColumnType = 'text' | 'time' | 'integer' | 'number' | 'json'

/** The columns of the tables in databases, with a row for each generation. */
export const traceColumns = {
  GENERATION_ID: 'text',
  TRACE_ID: 'text',
  SPAN_ID: 'text',
  PARENT_SPAN_ID: 'text',
  USER_ID: 'text',
  SESSION_ID: 'text',
  TIMESTAMP: 'time',
  MODEL: 'text',
  PROVIDER_NAME: 'text',
  API_KEY_NAME: 'text',
  STATUS: 'text',
  LEVEL: 'text',
  SPAN_TYPE: 'text',
  FINISH_REASON: 'text',
  PROMPT_TOKENS: 'integer',
  COMPLETION_TOKENS: 'integer',
  TOTAL_TOKENS: 'integer',
  TOTAL_COST: 'number',
  DURATION_MS: 'integer',
  ATTRIBUTES: 'json',
  INPUT: 'json',
  OUTPUT: 'json',
  METADATA: 'json',
  MODEL_PARAMETERS: 'json',
} satisfies Record<string, ColumnType>

export type TraceRow = Record<keyof typeof traceColumns, unknown>

/** Builds a row; facts without a column of their own are in ATTRIBUTES. */
export function toTraceRow(event: GenerationEvent): TraceRow {
  const {
    id,
    trace_id,
    span_id,
    parent_span_id,
    user_id,
    session_id,
    started_at,
    ended_at: _,
    duration_ms,
    model,
    provider,
    status,
    finish_reason,
    input,
    output,
    metadata,
    model_parameters,
    ...attributes
  } = toEventJson(event)
  return {
    GENERATION_ID: id,
    TRACE_ID: trace_id,
    SPAN_ID: span_id,
    PARENT_SPAN_ID: parent_span_id,
    USER_ID: user_id,
    SESSION_ID: session_id,
    TIMESTAMP: started_at,
    MODEL: model,
    PROVIDER_NAME: provider,
    API_KEY_NAME: attributes.identity?.api_key_name ?? null,
    STATUS: status,
    LEVEL: attributes.error === null ? 'DEFAULT' : 'ERROR',
    SPAN_TYPE: 'GENERATION',
    FINISH_REASON: finish_reason,
    PROMPT_TOKENS: attributes.usage.prompt_tokens,
    COMPLETION_TOKENS: attributes.usage.completion_tokens,
    TOTAL_TOKENS: attributes.usage.total_tokens,
    TOTAL_COST: attributes.cost?.total_usd ?? null,
    DURATION_MS: duration_ms,
    ATTRIBUTES: attributes,
    INPUT: input,
    OUTPUT: output,
    METADATA: metadata,
    MODEL_PARAMETERS: model_parameters,
  }
}
