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
}

/** Without column names: it is written for every request, and read only after a crash. */
export type EncodedDraft = [
  form: number,
  generation: unknown[],
  first: unknown[],
  promptTokens: number,
  byokFee: number,
]

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
  const encoded: unknown[] = JSON.parse(text)
  // The first releases wrote no number.
  const [number, values, target, promptTokens, byokFee] = (
    typeof encoded[0] === 'number' ? encoded : [1, ...encoded]
  ) as EncodedDraft
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

function zipColumns(columns: readonly string[], values: readonly unknown[]): Record<string, unknown> {
  return Object.fromEntries(columns.map((column, at) => [column, values[at]]))
}

/** Counters that the version which wrote it did not have are zero. */
export function decodeCheckpoint(text: string): Checkpoint {
  const checkpoint: Checkpoint = JSON.parse(text)
  const { usage } = checkpoint.reply
  return { ...checkpoint, reply: { ...checkpoint.reply, usage: usage && { ...zeroUsage, ...usage } } }
}
