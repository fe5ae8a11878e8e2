import type { Pricing } from '../catalog/price.ts'
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
  'service_tier',
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
  firstTokenMs: number | null
  /** JSON array of attempts that failed. */
  attempts: string
}

type Written = Omit<Draft, 'generation'> & { generation: unknown[] }

/** Without the names of its columns: it is written for every request, and read after a crash. */
export function writeDraft(draft: Draft): string {
  const written: Written = { ...draft, generation: draftColumns.map((column) => draft.generation[column]) }
  return JSON.stringify(written)
}

export function readDraft(text: string): Draft {
  const { generation, ...rest }: Written = JSON.parse(text)
  const named = Object.fromEntries(draftColumns.map((column, place) => [column, generation[place]]))
  return { ...rest, generation: named as Draft['generation'] }
}
