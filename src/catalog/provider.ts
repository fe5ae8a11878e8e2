import type { ReasoningFormat } from '../formats/call/part.ts'
import type { DeclaredAttemptPolicy } from '../formats/schema/attempt-policy.ts'
import type {
  DataRegion,
  FileFormatName,
  ReasoningField,
  VendorName,
  WireCapability,
  WireFormatName,
} from '../formats/vocabulary.ts'
import type { FormField } from '../platform/http/form-encode.ts'
import type { FrameReader } from '../platform/http/sse.ts'
import type { JsonObject } from '../platform/json/json-values.ts'
import type { ModelDeclaration, SpeechTraits } from './declared-model.ts'
import type { ModelListName } from './discovery/formats/all.ts'
import type { AuthOptions } from './provider-auth/all.ts'
import type { ProviderAddress, ProviderSettings, SettingName, SettingSource } from './provider-settings.ts'
import type { DeclaredRateLimits } from './rate-limits.ts'

export interface DataPolicy {
  /** May train on prompts. */
  training: boolean
  /** Retains prompts after the reply. */
  retains: boolean
  /** May publish prompts. */
  publishes: boolean
}

/** Assumed for a provider that makes no statement. */
export const unknownDataPolicy: DataPolicy = { training: true, retains: true, publishes: false }

/** Capabilities of nearly every OpenAI-compatible server. */
export const commonCapabilities: readonly WireCapability[] = ['stream_usage']

/** The form in which a provider's chat format carries the reasoning of earlier turns. */
export interface ReasoningHistory {
  field: ReasoningField
  /** A turn with tool calls must have the field, even if it is empty. */
  required?: true
  /** Forwards signatures to the vendors that issued them. */
  anySignature?: true
}

/** The field that most OpenAI-compatible servers read. */
export const commonReasoningHistory: ReasoningHistory = { field: 'reasoning_content' }

/** A request in a standard format, before the provider's adaptations. */
export interface WireRequest {
  /** The provider's name of the model. */
  model: string
  stream: boolean
  /** Appended to the base URL. */
  path: string
  /** Client headers that are forwarded. */
  headers: Readonly<Record<string, string>>
  body: JsonObject
}

/** The deviations of a provider from a format. */
export interface WireAdapter {
  adaptRequest(request: WireRequest): Pick<WireRequest, 'path' | 'headers' | 'body'>
  /** The JSON that it takes instead of a form. */
  adaptForm?(fields: readonly FormField[]): JsonObject
  /** Body fields that it would reject: they are dropped and reported. */
  droppedFields?: readonly string[]
  /** Creates a reader of streams that are not server-sent events. */
  createFrameReader?: () => FrameReader
}

/**
 * The names that a provider's video API uses. Paths in bodies are written `video.url`; an id in a URL is `{id}`.
 */
export interface VideoJobFormat {
  /** The paths to submit a job, and to read its state. */
  submit: string
  poll: string
  /** The id of a job in the reply to its submission. */
  id: string
  /** The paths of the fields of a request in the body; fields that are absent here are dropped and reported. */
  fields: Readonly<
    Partial<
      Record<
        | 'prompt'
        | 'duration'
        | 'resolution'
        | 'aspectRatio'
        | 'size'
        | 'audio'
        | 'seed'
        | 'creativity'
        | 'upscaleFactor'
        | 'firstFrame'
        | 'lastFrame'
        | 'references',
        string
      >
    >
  >
  /** The path to submit a job that continues another, and the field for the URL of that video. */
  continuation?: { path: string; field: string }
  /** The state of a job, and what its values mean. */
  state: string
  states: Readonly<
    Record<string, 'pending' | 'in_progress' | 'completed' | 'failed' | 'cancelled' | 'expired'>
  >
  percent?: string
  /** The paths of the URL and the quantities of the finished video. */
  url: string
  seconds?: string
  tokens?: string
  /** The path of the reason a job failed. */
  error: string
}

/** Restrictions of a web search. */
export interface NativeSearchOptions {
  maxUses?: number | undefined
  includeDomains: readonly string[]
  excludeDomains: readonly string[]
  contextSize?: string | undefined
  userLocation?: JsonObject | null | undefined
}

/** The web search of a provider itself: a tool of one of its formats. */
export interface NativeSearch {
  wireFormat: WireFormatName
  /** The types of the tool in that format. */
  types: RegExp
  /** The lists of domains that it accepts. */
  domainLists: 'exclusive' | 'include' | 'none'
  maxDomains?: number
  createTool(options: NativeSearchOptions): JsonObject
}

/** The provider's regions within a data region. */
export interface DataResidency {
  regionPattern: RegExp
  /** Used with credentials of another region; without it, they are not used. */
  fallbackRegion?: string
}

/**
 * The address of an upstream, how to authenticate to it and its policies. A provider is data, with a small
 * function where its wire format deviates.
 */
export interface Provider extends ProviderAddress {
  slug: string
  name: string
  /** Its name in the GenAI conventions of OpenTelemetry, where that is not the slug. */
  telemetryName?: string
  settings?: Readonly<Partial<Record<SettingName, SettingSource>>>
  /** The environment variable for its key, which enables the provider. Null: no key is needed. */
  keyVariable: string | null
  /** The variable may hold the path of a file instead. */
  keyFile?: true
  /** The scheme, and its options, of the JSON credentials that it accepts besides a token. */
  auth?: AuthOptions
  webSearch?: NativeSearch
  /** The format in which it connects to MCP servers itself. */
  connectsToMcp?: WireFormatName
  /** Accepts a list of resources and deployments as its credential. */
  acceptsDeployments?: true
  /** Wire formats in order of preference, for requests in another format. */
  wireFormats: WireFormatName[]
  regions: DataRegion[]
  dataPolicy: DataPolicy
  /** ISO 3166-1 alpha-2. */
  headquarters: string | null
  datacenters: string[] | null
  privacyPolicyUrl: string | null
  termsOfServiceUrl: string | null
  statusPageUrl: string | null
  /** The author whose models it serves first-party. */
  author?: string
  /** The neutral name of the author in policies and requests. */
  vendor?: VendorName
  /** Caches prompts at a discount without cache markers. */
  implicitCaching?: boolean
  /** The shortest prompt that it caches at a breakpoint; it ignores a breakpoint after less. */
  minCachedTokens?: (model: string) => number
  /** Simulated inside this process, without any network. */
  inProcess?: boolean
  /** Clients can make it fail on purpose, so failures do not count toward its health. */
  failsOnRequest?: boolean
  /** The header for the key, if it differs from the format's. */
  keyHeader?: string
  /** Sent with every request, besides the headers of the format. */
  headers?: Readonly<Record<string, string>>
  /** Deviations from the formats it supports. */
  wire?: Readonly<Partial<Record<WireFormatName, WireAdapter>>>
  /** The names of its video API, for the wire format `video-jobs`. */
  videoJobs?: VideoJobFormat
  /** How it lists its models; by default, as servers of its first format do. */
  modelList?: ModelListName | 'none'
  /** Names of models that it serves although nothing declares them, such as `openai/*`. */
  wildcards?: readonly string[]
  /** The built-in provider whose prices are also its own. */
  pricedAs?: string
  /** The formats of a model that the catalog does not know, by the provider's name of it. */
  listDialects?: (model: string) => WireFormatName[]
  /** The provider's name of a model, if it depends on the settings or the data region. */
  resolveModelName?: (model: string, settings: ProviderSettings, region: DataRegion) => string
  dataResidency?: Readonly<Partial<Record<DataRegion, DataResidency>>>
  /** Request fields, by their API names, that it would reject: they are dropped and reported. */
  unsupportedFields?: readonly string[]
  /** Optional features of its formats; by default `commonCapabilities`. */
  capabilities?: readonly WireCapability[]
  /** The format of its reasoning signatures, if it differs from its wire format's. */
  signatures?: ReasoningFormat
  /** The field for the reasoning of earlier turns; by default `commonReasoningHistory`. */
  reasoningHistory?: ReasoningHistory
  /** Generates and bills the whole reply even if the connection closes, so replies are always read to the end. */
  billsAbandoned?: boolean
  /** For all its endpoints. */
  attemptPolicy?: DeclaredAttemptPolicy
  /** What it allows all its endpoints together. */
  rateLimits?: DeclaredRateLimits
  /** Settings that its speech models have in common. */
  speech?: Readonly<SpeechTraits>
  /** The format of its file storage, for callers with a BYOK key. */
  fileFormat?: FileFormatName
  /** Models that come with the provider. */
  models?: ModelDeclaration[]
}

/** What traces call a provider. */
export function telemetryNameOf({ slug, telemetryName }: Pick<Provider, 'slug' | 'telemetryName'>): string {
  return telemetryName ?? slug
}

/** The same by the slug, which may be that of a provider that is no longer declared. */
export function findTelemetryName(
  { providers }: { readonly providers: readonly Provider[] },
  slug: string,
): string {
  return providers.find((provider) => provider.slug === slug)?.telemetryName ?? slug
}
