import type { Pricing } from '../catalog/price.ts'
import type { ServedTier } from '../catalog/vocabulary.ts'
import type { GenerationTable } from '../db/schema.ts'
import type { Reply } from './charge.ts'

export type Generation = Omit<GenerationTable, 'posting_id' | 'ended_at'>

/** What of a generation is known before it begins. */
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

/** Without the names of its columns: it is written for every request, and read after a crash. */
export type WrittenDraft = [generation: unknown[], first: unknown[], promptTokens: number, byokFee: number]

export function writeDraft({ generation, first, promptTokens, byokFee }: Draft): WrittenDraft {
  const { model, provider, endpoint, upstream_dialect, is_byok, pricing } = first
  const place = [model, provider, endpoint, upstream_dialect, is_byok, pricing]
  return [draftColumns.map((column) => generation[column]), place, promptTokens, byokFee]
}

export function readDraft(text: string): Draft {
  const [values, place, promptTokens, byokFee]: WrittenDraft = JSON.parse(text)
  const generation = Object.fromEntries(draftColumns.map((column, at) => [column, values[at]]))
  const [model, provider, endpoint, upstream_dialect, is_byok, pricing] = place
  const first = { model, provider, endpoint, upstream_dialect, is_byok, pricing }
  return { generation: generation as Draft['generation'], first: first as Place, promptTokens, byokFee }
}
