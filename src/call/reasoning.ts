import { parseJson } from '../lib/json.ts'
import { JsonError } from '../lib/json-error.ts'
import { objectOf, textOf } from '../lib/loose.ts'
import type { Effort, ReasoningWish } from './call.ts'
import { type ReasoningFormat, type ReasoningPart, reasoningFormats } from './part.ts'

/** Which part of `max_tokens` an effort stands for, where a model takes a budget only. */
const shares: Record<Effort, number> = {
  max: 0.95,
  xhigh: 0.95,
  high: 0.8,
  medium: 0.5,
  low: 0.2,
  minimal: 0.1,
  none: 0,
}

export const efforts = Object.keys(shares) as Effort[]

export function isEffort(value: unknown): value is Effort {
  return typeof value === 'string' && value in shares
}

/** Whether thinking is wanted; undefined when nothing was said. */
export function wantsReasoning(wish: ReasoningWish | undefined): boolean | undefined {
  if (!wish) return undefined
  if (wish.effort !== undefined) return wish.effort !== 'none'
  if (wish.maxTokens !== undefined) return wish.maxTokens > 0
  if (wish.enabled !== undefined) return wish.enabled
  return wish.adaptive
}

/** The effort a wish comes to: `enabled` alone is medium, a budget the effort with the nearest share. */
export function effortOf(wish: ReasoningWish, maxTokens: number): Effort | undefined {
  if (wish.effort !== undefined) return wish.effort
  if (wish.maxTokens !== undefined)
    return wish.maxTokens === 0 ? 'none' : nearestShare(wish.maxTokens / maxTokens)
  if (wish.enabled === undefined) return undefined
  return wish.enabled ? 'medium' : 'none'
}

function nearestShare(share: number): Effort {
  const candidates: Effort[] = ['xhigh', 'high', 'medium', 'low', 'minimal']
  return candidates.reduce((best, next) =>
    Math.abs(shares[next] - share) < Math.abs(shares[best] - share) ? next : best,
  )
}

/** The budget a wish comes to, in tokens, within what vendors accept. */
export function budgetOf(wish: ReasoningWish, maxTokens: number): number | undefined {
  if (wish.maxTokens !== undefined) return wish.maxTokens === 0 ? 0 : Math.max(wish.maxTokens, leastBudget)
  const effort = effortOf(wish, maxTokens)
  if (effort === undefined) return undefined
  if (effort === 'none') return 0
  return Math.max(Math.min(Math.floor(maxTokens * shares[effort]), mostBudget), leastBudget)
}

export const leastBudget = 1024
const mostBudget = 128_000

/** The nearest effort that a model knows; the wish itself when it knows all. */
export function nearestEffort(wanted: Effort, known: readonly string[] | null): Effort {
  if (!known || known.includes(wanted)) return wanted
  const offered = efforts.filter((effort) => known.includes(effort))
  const distance = (effort: Effort) => Math.abs(efforts.indexOf(effort) - efforts.indexOf(wanted))
  // `none` is a wish of another kind: it is never what an unknown strength is rounded to.
  const strengths = offered.filter((effort) => effort !== 'none')
  return (strengths.length > 0 ? strengths : offered).reduce(
    (best, next) => (distance(next) < distance(best) ? next : best),
    strengths.at(-1) ?? offered[0] ?? wanted,
  )
}

const mark = 'hg1.'

/** Foreign thinking in a single opaque text, for formats whose blocks have room for no more. */
export function packReasoning(part: ReasoningPart): string {
  const { id, text, summary, signature, encrypted, format } = part
  const packed = JSON.stringify({ id, text, summary, signature, encrypted, format })
  return mark + Buffer.from(packed).toString('base64url')
}

/** The thinking that `packReasoning` packed; undefined for everything else. */
export function unpackReasoning(packed: string): ReasoningPart | undefined {
  if (!packed.startsWith(mark)) return undefined
  try {
    const value = objectOf(parseJson(Buffer.from(packed.slice(mark.length), 'base64url').toString()))
    const format = reasoningFormats.find((known) => known === value?.format)
    if (!value || !format) return undefined
    const part: ReasoningPart = {
      kind: 'reasoning',
      text: textOf(value.text) ?? '',
      summary: summaryOf(value.summary),
      format,
    }
    const [id, signature, encrypted] = [textOf(value.id), textOf(value.signature), textOf(value.encrypted)]
    if (id !== undefined) part.id = id
    if (signature !== undefined) part.signature = signature
    if (encrypted !== undefined) part.encrypted = encrypted
    return part
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

function summaryOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((section) => typeof section === 'string') : []
}

/** Whether a vendor that reads `format` can be given this part back. */
export function belongsTo(part: ReasoningPart, format: ReasoningFormat): boolean {
  return part.format === format
}
