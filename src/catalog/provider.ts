import type { ReasoningFormat } from '../call/part.ts'
import type { ModelDeclaration } from './declared-model.ts'
import type { DataRegion, DialectName, VendorName, WireAbility } from './vocabulary.ts'

export interface DataPolicy {
  /** May train on what it is sent. */
  training: boolean
  /** Keeps prompts after the answer. */
  retains: boolean
  /** May publish prompts. */
  publishes: boolean
}

/** What counts for a provider that has promised nothing. */
export const unknownPolicy: DataPolicy = { training: true, retains: true, publishes: false }

/** What nearly every server of the OpenAI shape understands. */
export const commonAbilities: readonly WireAbility[] = ['stream_usage']

/** Where an upstream is and what it promises. A provider is data: no code runs here. */
export interface Provider {
  slug: string
  name: string
  /** `{NAME}` stands for an environment variable, without which the provider is not enabled. */
  baseUrl: string
  /** The environment variable its users already have; set, it enables the provider. Null: no key is needed. */
  keyVariable: string | null
  /** In order of preference, for requests that came in another format. */
  dialects: DialectName[]
  regions: DataRegion[]
  dataPolicy: DataPolicy
  /** ISO 3166-1 alpha-2. */
  headquarters: string | null
  datacenters: string[] | null
  privacyPolicyUrl: string | null
  termsOfServiceUrl: string | null
  statusPageUrl: string | null
  /** The author whose models are this provider's own. */
  author?: string
  /** The neutral name that policies and requests know this provider's author by. */
  vendor?: VendorName
  /** Charges less for repeated prompts without being asked to. */
  implicitCaching?: boolean
  /** Answers inside this process, without any network. */
  inProcess?: boolean
  /** The header its key goes into, where it is not the one of its format. */
  keyHeader?: string
  /** Headers that every request carries, beside those of the format. */
  headers?: Readonly<Record<string, string>>
  /** Words of its dialects beyond the common ones; see `commonAbilities`. */
  abilities?: readonly WireAbility[]
  /** Whose reasoning signatures it gives and understands, where they are not those of its format. */
  signatures?: ReasoningFormat
  /** Goes on, and bills all of it, when the client has left: its reply is read to the end. */
  billsAbandoned?: boolean
  /** Models that come with the provider. */
  models?: ModelDeclaration[]
}
