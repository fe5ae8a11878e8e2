import type { ReasoningFormat } from '../call/part.ts'
import type { JsonObject } from '../lib/json-values.ts'
import type { FrameReader } from '../lib/sse.ts'
import type { SignInOptions } from '../sign-in/all.ts'
import type { ModelDeclaration } from './declared-model.ts'
import type { ProviderAddress, ProviderSettings, SettingName, SettingSource } from './provider-settings.ts'
import type { DataRegion, DialectName, ReasoningField, VendorName, WireCapability } from './vocabulary.ts'

export interface DataPolicy {
  /** May train on what it is sent. */
  training: boolean
  /** Keeps prompts after the answer. */
  retains: boolean
  /** May publish prompts. */
  publishes: boolean
}

/** What counts for a provider that has promised nothing. */
export const unknownDataPolicy: DataPolicy = { training: true, retains: true, publishes: false }

/** What nearly every server of the OpenAI shape understands. */
export const commonCapabilities: readonly WireCapability[] = ['stream_usage']

/** How a provider's chat format takes the thinking of earlier turns. */
export interface ReasoningHistory {
  field: ReasoningField
  /** A turn that calls tools must have the field, if only empty. */
  required?: true
  /** Hands signatures on to the vendors that made them. */
  anySignature?: true
}

/** What most servers of the OpenAI shape read. */
export const commonReasoningHistory: ReasoningHistory = { field: 'reasoning_content' }

/** A request in the words of a format, on its way to becoming a provider's own. */
export interface WireRequest {
  /** The upstream's name of the model. */
  model: string
  stream: boolean
  /** After the base URL. */
  path: string
  /** Those that the client sent and that pass. */
  headers: Readonly<Record<string, string>>
  body: JsonObject
}

/** How a provider departs from a format that it speaks otherwise. */
export interface WireAdapter {
  adaptRequest(request: WireRequest): Pick<WireRequest, 'path' | 'headers' | 'body'>
  /** Fields of the body that it does not know and would refuse: they are dropped and reported. */
  droppedFields?: readonly string[]
  /** Its streams, where they are not server-sent events. */
  createFrameReader?: () => FrameReader
}

/** Which of a provider's own regions are in a region that a request must not leave. */
export interface DataResidency {
  regionPattern: RegExp
  /** For a credential of another region; without it, such a credential is not used. */
  fallbackRegion?: string
}

/**
 * Where an upstream is, how it is signed in to and what it promises. A provider is data, with a small
 * function where its wire is not quite that of a format.
 */
export interface Provider extends ProviderAddress {
  slug: string
  name: string
  settings?: Readonly<Partial<Record<SettingName, SettingSource>>>
  /** The environment variable its users already have; set, it enables the provider. Null: no key is needed. */
  keyVariable: string | null
  /** The variable may name a file instead. */
  keyFile?: true
  /** The scheme, and its options, of the JSON credentials that it accepts besides a token. */
  signIn?: SignInOptions
  /** Its credential may be a list of resources and deployments. */
  acceptsDeployments?: true
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
  /** Fails as its callers tell it to: one caller's failures say nothing about it to others, and nobody learns from them. */
  failsOnRequest?: boolean
  /** The header its key goes into, where it is not the one of its format. */
  keyHeader?: string
  /** Headers that every request carries, beside those of the format. */
  headers?: Readonly<Record<string, string>>
  /** Where it departs from the formats it speaks. */
  wire?: Readonly<Partial<Record<DialectName, WireAdapter>>>
  /** What a model is called there, where that depends on more than the model. */
  resolveModelName?: (model: string, settings: ProviderSettings, region: DataRegion) => string
  dataResidency?: Readonly<Partial<Record<DataRegion, DataResidency>>>
  /** Fields of a request, by the names of the API, that it would refuse: they are dropped and reported. */
  unsupportedFields?: readonly string[]
  /** Words of its dialects beyond the common ones; see `commonAbilities`. */
  capabilities?: readonly WireCapability[]
  /** Whose reasoning signatures it gives and understands, where they are not those of its format. */
  signatures?: ReasoningFormat
  /** Where it expects the thinking of earlier turns; see `commonHistory`. */
  reasoningHistory?: ReasoningHistory
  /** Goes on, and bills all of it, when the client has left: its reply is read to the end. */
  billsAbandoned?: boolean
  /** Models that come with the provider. */
  models?: ModelDeclaration[]
}
