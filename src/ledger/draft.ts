import { noTokens } from '../call/usage.ts'
import type { Pricing } from '../catalog/price.ts'
import type { ServedTier } from '../catalog/vocabulary.ts'
import type { GenerationTable } from '../db/schema.ts'
import type { Reply } from './charge.ts'

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
  first: Place
  promptTokens: number
  byokFee: number
}

/** Where a request is, or was last. */
export interface Place {
  model: string
  provider: string
  endpoint: string
  upstream_dialect: string
  is_byok: 0 | 1
  pricing: Pricing | null
}

/** How far a reply had come. */
export interface Checkpoint {
  place: Place
  reply: Reply
  tier: ServedTier | null
  firstTokenMs: number | null
  /** JSON array of attempts that failed. */
  attempts: string
}

/** In which order the values of a draft stand. */
export interface DraftForm {
  generation: readonly string[]
  place: readonly string[]
}

/**
 * Every form that drafts were written in; the last is written now, and its number with it. A form that was released
 * is never changed, only followed by another: holds outlive the version that placed them. Checkpoints have the form
 * of their hold, since one process writes both.
 */
export const draftForms: readonly DraftForm[] = [
  {
    generation: draftColumns,
    place: ['model', 'provider', 'endpoint', 'upstream_dialect', 'is_byok', 'pricing'],
  },
]

/** For columns that a form does not have. */
const unknown: Draft['generation'] = {
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
export type WrittenDraft = [
  form: number,
  generation: unknown[],
  first: unknown[],
  promptTokens: number,
  byokFee: number,
]

export function writeDraft({ generation, first, promptTokens, byokFee }: Draft): WrittenDraft {
  const { model, provider, endpoint, upstream_dialect, is_byok, pricing } = first
  const place = [model, provider, endpoint, upstream_dialect, is_byok, pricing]
  const values = draftColumns.map((column) => generation[column])
  return [draftForms.length, values, place, promptTokens, byokFee]
}

/** A newer version wrote it: only that one knows what it says. */
export class NewerFormError extends Error {}

export function readDraft(text: string, forms: readonly DraftForm[] = draftForms): Draft {
  const written: unknown[] = JSON.parse(text)
  // The first releases wrote no number.
  const [number, values, place, promptTokens, byokFee] = (
    typeof written[0] === 'number' ? written : [1, ...written]
  ) as WrittenDraft
  const form = forms[number - 1]
  if (!form) throw new NewerFormError(`a hold has the form ${number}`)
  const generation = { ...unknown, ...named(form.generation, values) }
  return { generation, first: named(form.place, place) as unknown as Place, promptTokens, byokFee }
}

function named(columns: readonly string[], values: readonly unknown[]): Record<string, unknown> {
  return Object.fromEntries(columns.map((column, at) => [column, values[at]]))
}

/** What was not counted yet when it was written counts as nothing. */
export function readCheckpoint(text: string): Checkpoint {
  const checkpoint: Checkpoint = JSON.parse(text)
  const { usage } = checkpoint.reply
  return { ...checkpoint, reply: { ...checkpoint.reply, usage: usage && { ...noTokens, ...usage } } }
}
