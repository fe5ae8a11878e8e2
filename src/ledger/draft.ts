import type { Pricing } from '../catalog/price.ts'
import type { GenerationTable } from '../db/schema.ts'
import type { Reply } from './charge.ts'

export type Generation = Omit<GenerationTable, 'posting_id' | 'ended_at'>

/** What is known of a generation before it begins. */
export interface Draft {
  generation: Pick<
    Generation,
    | 'id'
    | 'organization_id'
    | 'workspace_id'
    | 'key_id'
    | 'user_id'
    | 'created_at'
    | 'requested_model'
    | 'dialect'
    | 'streamed'
    | 'preset_id'
    | 'session_id'
    | 'region'
    | 'app_url'
    | 'app_title'
    | 'external_user'
    | 'api_type'
    | 'user_agent'
    | 'request_id'
    | 'service_tier'
    | 'input_images'
  >
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
