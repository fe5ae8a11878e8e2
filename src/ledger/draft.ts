import { zeroUsage } from '../call/usage.ts'
import type { Pricing } from '../catalogue/price.ts'
import type { ServedTier } from '../catalogue/vocabulary.ts'
import type { GenerationTable } from '../db/schema.ts'
import type { BillableReply } from './charge.ts'

export type Generation = Omit<GenerationTable, 'posting_id' | 'ended_at'>

/** What of a generation is known before it begins, in the order it is written in. */
const draftColumns = [
  'id',
  'organization_id',
  'workspace_id',
  'key_id',
  'user_id',
  'created_at',
  'requested_model',
  'dialect',
  'streamed',
  'preset_id',
  'session_id',
  'region',
  'app_url',
  'app_title',
  'external_user',
  'api_type',
  'user_agent',
  'request_id',
  'input_images',
] as const satisfies readonly (keyof Generation)[]

/** A request as it begins. */
export interface Draft {
  generation: Pick<Generation, (typeof draftColumns)[number]>
  /** Where it goes first, and at which price. */
  initialTarget: UpstreamTarget
  promptTokens: number
  byokFee: number
}

/** Where a request is, or was last. */
export interface UpstreamTarget {
  model: string
  provider: string
  endpoint: string
  upstream_dialect: string
  is_byok: 0 | 1
  pricing: Pricing | null
}

/** How far a reply had come. */
export interface Checkpoint {
  place: UpstreamTarget
  reply: BillableReply
  tier: ServedTier | null
  firstTokenMs: number | null
  /** JSON array of attempts that failed. */
  attempts: string
}

/** In which order the values of a draft stand. */
export interface DraftFormat {
  generation: readonly string[]
  target: readonly string[]
}

/**
 * Every form that drafts were written in; the last is written now, and its number with it. A form that was released
 * is never changed, only followed by another: holds outlive the version that placed them. Checkpoints have the form
 * of their hold, since one process writes both.
 */
export const draftFormats: readonly DraftFormat[] = [
  {
    generation: draftColumns,
    target: ['model', 'provider', 'endpoint', 'upstream_dialect', 'is_byok', 'pricing'],
  },
]

/** For columns that a form does not have. */
const emptyGeneration: Draft['generation'] = {
  id: '',
  organization_id: '',
  workspace_id: '',
  key_id: 0,
  user_id: null,
  created_at: '',
  requested_model: '',
  dialect: '',
  streamed: 0,
  preset_id: null,
  session_id: null,
  region: '',
  app_url: null,
  app_title: null,
  external_user: null,
  api_type: null,
  user_agent: null,
  request_id: null,
  input_images: 0,
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
  const { model, provider, endpoint, upstream_dialect, is_byok, pricing } = initialTarget
  const target = [model, provider, endpoint, upstream_dialect, is_byok, pricing]
  const values = draftColumns.map((column) => generation[column])
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
