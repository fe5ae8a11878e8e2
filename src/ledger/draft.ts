import { zeroUsage } from '../call/usage.ts'
import type { EndpointPricing } from '../catalogue/price.ts'
import type { ServedTier } from '../catalogue/vocabulary.ts'
import { type DraftFormat, draftFormats, emptyGeneration } from '../db/generation-table.ts'
import type { EncodedBill } from './bill.ts'
import type { BillableReply } from './charge.ts'
import type { GenerationParts } from './generation.ts'

/** A request at admission. */
export interface Draft {
  generation: GenerationParts['draft']
  /** The endpoint it is sent to first, with its prices. */
  initialTarget: UpstreamTarget
  promptTokens: number
  byokFee: number
}

/** The endpoint that a request was sent to last. */
export type UpstreamTarget = GenerationParts['target'] & { pricing: EndpointPricing | null }

/** The progress of a reply. */
export interface Checkpoint {
  place: UpstreamTarget
  reply: BillableReply
  tier: ServedTier | null
  firstTokenMs: number | null
  /** JSON array of the attempts that failed. */
  attempts: string
  /** What it cost before this reply, as `encodeBill` returns it. */
  bill?: EncodedBill
  /** The request on whose behalf it is made, and what for. */
  outer?: { id: string; purpose: string } | undefined
}

/** Without column names: it is written for every request, and read only after a crash. */
export type EncodedDraft = [
  form: number,
  generation: unknown[],
  first: unknown[],
  promptTokens: number,
  byokFee: number,
]

/** Of an extension, which is never settled by itself. */
export const emptyDraft: EncodedDraft = [draftFormats.length, [], [], 0, 0]

export function encodeDraft({ generation, initialTarget, promptTokens, byokFee }: Draft): EncodedDraft {
  const format = draftFormats.at(-1) ?? draftFormats[0]
  const values: unknown[] = []
  for (const column of format.generation) values.push(generation[column])
  const target: unknown[] = []
  for (const column of format.target) target.push(initialTarget[column])
  return [draftFormats.length, values, target, promptTokens, byokFee]
}

/** A newer version wrote it, and only that version can decode it. */
export class NewerFormatError extends Error {}

export function decodeDraft(text: string, formats: readonly DraftFormat[] = draftFormats): Draft {
  const encoded: unknown = JSON.parse(text)
  const isNumbered = Array.isArray(encoded) && typeof encoded[0] === 'number'
  const [number, values, target, promptTokens, byokFee] = isNumbered
    ? (encoded as EncodedDraft)
    : numberEarlyDraft(encoded, formats[0])
  const format = formats[number - 1]
  if (!format) throw new NewerFormatError(`a hold has the draft format ${number}`)
  const generation = { ...emptyGeneration, ...zipColumns(format.generation, values) }
  return {
    generation,
    initialTarget: zipColumns(format.target, target) as unknown as UpstreamTarget,
    promptTokens,
    byokFee,
  }
}

interface EarlyDraft {
  generation: unknown[] | Record<string, unknown>
  first: Record<string, unknown>
  promptTokens: number
  byokFee: number
}

/** The first formats had no number: an object with columns by name, then with a list of values, then lists alone. */
function numberEarlyDraft(encoded: unknown, format: DraftFormat | undefined): EncodedDraft {
  if (!format || typeof encoded !== 'object' || encoded === null) throw new Error('a draft is a list')
  if (Array.isArray(encoded)) {
    const [values, target, promptTokens, byokFee] = encoded
    return [1, dropRequestedTier(values, format), target, promptTokens, byokFee]
  }
  const { generation, first, promptTokens, byokFee } = encoded as EarlyDraft
  const values = Array.isArray(generation)
    ? dropRequestedTier(generation, format)
    : format.generation.map((column) => generation[column])
  return [1, values, format.target.map((column) => first[column]), promptTokens, byokFee]
}

/** The lists had the requested service tier before their last value until the tier that served was recorded. */
function dropRequestedTier(values: unknown[], { generation }: DraftFormat): unknown[] {
  return values.length === generation.length + 1 ? values.toSpliced(-2, 1) : values
}

function zipColumns(columns: readonly string[], values: readonly unknown[]): Record<string, unknown> {
  return Object.fromEntries(columns.map((column, at) => [column, values[at]]))
}

/** Counters that the version which wrote it did not have are zero. */
export function decodeCheckpoint(text: string): Checkpoint {
  const checkpoint: Checkpoint = JSON.parse(text)
  const { usage } = checkpoint.reply
  return { ...checkpoint, reply: { ...checkpoint.reply, usage: usage && { ...zeroUsage, ...usage } } }
}
