import { zeroUsage } from '../call/usage.ts'
import type { Pricing } from '../catalogue/price.ts'
import type { ServedTier } from '../catalogue/vocabulary.ts'
import { type DraftFormat, draftFormats, emptyGeneration } from '../db/generation-table.ts'
import type { BillableReply } from './charge.ts'
import type { GenerationParts } from './generation.ts'

/** A request as it begins. */
export interface Draft {
  generation: GenerationParts['draft']
  /** Where it goes first, and at which price. */
  initialTarget: UpstreamTarget
  promptTokens: number
  byokFee: number
}

/** The endpoint that a request was sent to last. */
export type UpstreamTarget = GenerationParts['target'] & { pricing: Pricing | null }

/** How far a reply had come. */
export interface Checkpoint {
  place: UpstreamTarget
  reply: BillableReply
  tier: ServedTier | null
  firstTokenMs: number | null
  /** JSON array of attempts that failed. */
  attempts: string
}

/** Without the names of its columns: it is written for every request, and read after a crash. */
export type EncodedDraft = [
  form: number,
  generation: unknown[],
  first: unknown[],
  promptTokens: number,
  byokFee: number,
]

export function encodeDraft({ generation, initialTarget, promptTokens, byokFee }: Draft): EncodedDraft {
  const format = draftFormats.at(-1) ?? draftFormats[0]
  const values = format.generation.map((column) => generation[column])
  const target = format.target.map((column) => initialTarget[column])
  return [draftFormats.length, values, target, promptTokens, byokFee]
}

/** A newer version wrote it: only that one knows what it says. */
export class NewerFormatError extends Error {}

export function decodeDraft(text: string, formats: readonly DraftFormat[] = draftFormats): Draft {
  const encoded: unknown[] = JSON.parse(text)
  // The first releases wrote no number.
  const [number, values, target, promptTokens, byokFee] = (
    typeof encoded[0] === 'number' ? encoded : [1, ...encoded]
  ) as EncodedDraft
  const format = formats[number - 1]
  if (!format) throw new NewerFormatError(`a hold has the form ${number}`)
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

/** What was not counted yet when it was written counts as nothing. */
export function decodeCheckpoint(text: string): Checkpoint {
  const checkpoint: Checkpoint = JSON.parse(text)
  const { usage } = checkpoint.reply
  return { ...checkpoint, reply: { ...checkpoint.reply, usage: usage && { ...zeroUsage, ...usage } } }
}
