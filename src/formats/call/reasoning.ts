import { parseJson } from '../../platform/json/json.ts'
import { JsonError } from '../../platform/json/json-error.ts'
import { asObject, asString } from '../../platform/json/json-values.ts'
import type { Effort, ReasoningOptions } from './call.ts'
import { type ReasoningFormat, type ReasoningPart, reasoningFormats } from './part.ts'

/** The share of `max_tokens` an effort stands for, for models that only take a budget. */
const effortShares: Record<Effort, number> = {
  max: 0.95,
  xhigh: 0.95,
  high: 0.8,
  medium: 0.5,
  low: 0.2,
  minimal: 0.1,
  none: 0,
}

export const efforts = Object.keys(effortShares) as Effort[]

export function isEffort(value: unknown): value is Effort {
  return typeof value === 'string' && value in effortShares
}

/** Whether reasoning is requested; undefined when the request does not say. */
export function isReasoningRequested(options: ReasoningOptions | undefined): boolean | undefined {
  if (!options) return undefined
  if (options.effort !== undefined) return options.effort !== 'none'
  if (options.maxTokens !== undefined) return options.maxTokens > 0
  if (options.enabled !== undefined) return options.enabled
  return options.adaptive
}

/** The effort of reasoning options: `enabled` alone is medium, a budget is the effort with the nearest share. */
export function resolveEffort(options: ReasoningOptions, maxTokens: number): Effort | undefined {
  if (options.effort !== undefined) return options.effort
  if (options.maxTokens !== undefined)
    return options.maxTokens === 0 ? 'none' : effortForShare(options.maxTokens / maxTokens)
  if (options.enabled === undefined) return undefined
  return options.enabled ? 'medium' : 'none'
}

function effortForShare(share: number): Effort {
  const candidates: Effort[] = ['xhigh', 'high', 'medium', 'low', 'minimal']
  return candidates.reduce((best, next) =>
    Math.abs(effortShares[next] - share) < Math.abs(effortShares[best] - share) ? next : best,
  )
}

/** The budget of reasoning options in tokens, within the range vendors accept. */
export function resolveBudget(options: ReasoningOptions, maxTokens: number): number | undefined {
  if (options.maxTokens !== undefined)
    return options.maxTokens === 0 ? 0 : Math.max(options.maxTokens, minReasoningBudget)
  const effort = resolveEffort(options, maxTokens)
  if (effort === undefined) return undefined
  if (effort === 'none') return 0
  return Math.max(
    Math.min(Math.floor(maxTokens * effortShares[effort]), maxReasoningBudget),
    minReasoningBudget,
  )
}

export const minReasoningBudget = 1024
const maxReasoningBudget = 128_000

/** The nearest effort that the model supports; null means it supports every effort. */
export function findNearestEffort(requested: Effort, supported: readonly string[] | null): Effort {
  if (!supported || supported.includes(requested)) return requested
  const candidates = efforts.filter((effort) => supported.includes(effort))
  const computeDistance = (effort: Effort) => Math.abs(efforts.indexOf(effort) - efforts.indexOf(requested))
  // `none` switches reasoning off, so an unsupported effort is never rounded to it.
  const strengths = candidates.filter((effort) => effort !== 'none')
  return (strengths.length > 0 ? strengths : candidates).reduce(
    (best, next) => (computeDistance(next) < computeDistance(best) ? next : best),
    strengths.at(-1) ?? candidates[0] ?? requested,
  )
}

const packedPrefix = 'hg1.'

/** Another vendor's reasoning as one opaque string, for formats whose blocks carry nothing more. */
export function packReasoning(part: ReasoningPart): string {
  const { id, text, summary, signature, encrypted, format } = part
  const packed = JSON.stringify({ id, text, summary, signature, encrypted, format })
  return packedPrefix + Buffer.from(packed).toString('base64url')
}

/** The reverse of `packReasoning`; undefined for any other string. */
export function unpackReasoning(packed: string): ReasoningPart | undefined {
  if (!packed.startsWith(packedPrefix)) return undefined
  try {
    const value = asObject(parseJson(Buffer.from(packed.slice(packedPrefix.length), 'base64url').toString()))
    const format = reasoningFormats.find((known) => known === value?.format)
    if (!value || !format) return undefined
    const part: ReasoningPart = {
      kind: 'reasoning',
      text: asString(value.text) ?? '',
      summary: parseSummary(value.summary),
      format,
    }
    const [id, signature, encrypted] = [
      asString(value.id),
      asString(value.signature),
      asString(value.encrypted),
    ]
    if (id !== undefined) part.id = id
    if (signature !== undefined) part.signature = signature
    if (encrypted !== undefined) part.encrypted = encrypted
    return part
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

function parseSummary(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((section) => typeof section === 'string') : []
}

/** Whether this part can be sent back to a vendor whose signatures are of `format`. */
export function canReplayReasoning(part: ReasoningPart, format: ReasoningFormat): boolean {
  return part.format === format
}
