import type { EndpointPricing } from '../catalog/price.ts'
import { zeroUsage } from '../formats/call/usage.ts'
import type { ServedTier } from '../formats/vocabulary.ts'
import { type DraftFormat, draftFormats, emptyGeneration } from '../platform/db/generation-table.ts'
import type { EncodedBill } from './bill.ts'
import type { BillableReply } from './charge.ts'
import { type DraftColumns, listDraftValues, type TargetColumns } from './generation.ts'

/** A request at admission. */
export interface Draft {
  generation: DraftColumns
  /** The endpoint it is sent to first, with its prices. */
  initialTarget: UpstreamTarget
  promptTokens: number
  byokFee: number
}

/** The endpoint that a request was sent to last. */
export type UpstreamTarget = TargetColumns & { pricing: EndpointPricing | null }

/** The progress of a reply. */
export interface Checkpoint {
  place: UpstreamTarget
  reply: BillableReply
  tier: ServedTier | null
  firstTokenMs: number | null
  /** JSON array of the attempts that failed. */
  attempts: string
  /** Bill of the request before this reply, from `Bill.encode`. */
  bill?: EncodedBill
  /** The request on whose behalf it is made, and what for. */
  outer?: { id: string; purpose: string } | undefined
}

/** A draft without column names: it is written for every request, and read only after a crash. */
export type EncodedDraft = [
  form: number,
  generation: unknown[],
  first: unknown[],
  promptTokens: number,
  byokFee: number,
]

/** Target of a request whose endpoint is not known. */
export const emptyTarget: UpstreamTarget = {
  model: '',
  provider: '',
  endpoint: '',
  upstream_dialect: '',
  is_byok: 0,
  pricing: null,
}

/** Draft of an extension, which is never settled by itself. */
export const emptyDraft: Draft = {
  generation: emptyGeneration,
  initialTarget: emptyTarget,
  promptTokens: 0,
  byokFee: 0,
}

/** Encodes a draft in the last of `draftFormats`. */
export function encodeDraft({ generation, initialTarget, promptTokens, byokFee }: Draft): EncodedDraft {
  const { model, provider, endpoint, upstream_dialect, is_byok, pricing } = initialTarget
  const target = [model, provider, endpoint, upstream_dialect, is_byok, pricing]
  return [draftFormats.length, listDraftValues(generation), target, promptTokens, byokFee]
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
    initialTarget: { ...emptyTarget, ...zipColumns(format.target, target) },
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

/** Pairs columns with their values; omits columns without a value. */
function zipColumns(columns: readonly string[], values: readonly unknown[]): Record<string, unknown> {
  const pairs = columns.map((column, at) => [column, values[at]] as const)
  return Object.fromEntries(pairs.filter(([, value]) => value !== undefined))
}

/** Decodes a checkpoint. Values that the version which wrote it did not have are empty, and counters zero. */
export function decodeCheckpoint(text: string): Checkpoint {
  const checkpoint: Checkpoint = JSON.parse(text)
  const { usage } = checkpoint.reply
  return {
    ...checkpoint,
    place: { ...emptyTarget, ...checkpoint.place },
    reply: { ...checkpoint.reply, usage: usage && { ...zeroUsage, ...usage } },
  }
}
