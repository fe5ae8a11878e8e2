import type { JsonObject } from '../../platform/json/json-values.ts'
import { estimateJsonLength } from '../../platform/json/long-json.ts'
import { measureJson } from './bounds.ts'
import type { EventUsage, GenerationEvent } from './event.ts'
import type { SpanAttributes } from './otlp-mapping.ts'

/** Clients name these fields: they have a limit, as attributes have in the SDKs. */
const maxFields = 64
const maxNameLength = 128
export const maxJsonBytes = 16 * 1024

/** Fields as attributes: values that attributes cannot have as JSON. */
export function prefixFields(prefix: string, fields: JsonObject): SpanAttributes {
  const entries = Object.entries(fields).slice(0, maxFields)
  return Object.fromEntries(
    entries.map(([name, value]) => [`${prefix}${name.slice(0, maxNameLength)}`, toAttribute(value)]),
  )
}

function toAttribute(value: unknown): string | number | boolean | undefined {
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  return value === null || value === undefined ? undefined : formatJson(value)
}

/** Undefined fields are left out; a value that is too long is left out as a whole, because a part is not JSON. */
export function formatJson(value: unknown): string | undefined {
  if (estimateJsonLength(value, maxJsonBytes) > maxJsonBytes) return undefined
  const json = JSON.stringify(value)
  // As a value it is JSON within JSON.
  return measureJson(json) > maxJsonBytes ? undefined : json
}

/** Token counts that do not overlap: `promptTokens` includes the cached ones, `completionTokens` the reasoning. */
export function splitUsage(usage: EventUsage) {
  const { cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage
  return {
    input: Math.max(0, usage.promptTokens - cacheReadTokens - cacheWriteTokens),
    cacheRead: cacheReadTokens,
    cacheWrite: cacheWriteTokens,
    output: Math.max(0, usage.completionTokens - reasoningTokens),
    reasoning: reasoningTokens,
  }
}

export function secondsToFirstToken({ startedAt, firstTokenAt }: GenerationEvent): number | undefined {
  return firstTokenAt === null ? undefined : Math.max(0, firstTokenAt - startedAt) / 1000
}
