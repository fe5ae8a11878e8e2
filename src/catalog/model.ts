import type { ImageTokens } from '../formats/images/image-tokens.ts'
import {
  type DataRegion,
  isTextWireFormat,
  type OutputModality,
  type ParameterName,
  type SpeechField,
  type SpeechFormat,
  type VendorName,
  type WireFormatName,
} from '../formats/vocabulary.ts'
import type { AttemptPolicy } from './attempt-policy.ts'
import type { Credential } from './credential.ts'
import type { DeclaredEndpoint, DeclaredModel } from './declared-model.ts'
import type { EndpointPricing, PriceState } from './price.ts'
import type { DataPolicy, Provider } from './provider.ts'
import type { ProviderSettings } from './provider-settings.ts'
import type { DeclaredRate } from './rate-limits.ts'

/** A provider as configured in this installation. */
export interface CatalogProvider extends Provider {
  /** Whether it can be called with the installation's credential. */
  enabled: boolean
  installation: ProviderInstallation
}

/** The installation's credential and settings of a provider. */
export interface ProviderInstallation {
  credential: Credential
  settings: ProviderSettings
  /** The base URL with its placeholders filled in; null if a setting is missing. */
  address: string | null
  /** The reason the credential cannot be used; null if it can, or if there is none. */
  problem: string | null
}

/** Whether it is called without a key: a BYOK key would pay for nothing. */
export function isKeyless({ enabled, installation }: CatalogProvider): boolean {
  return enabled && installation.credential.kind === 'none'
}

/** Text only if an endpoint generates it: moderation models, for example, do not. */
export function hasOutput(
  { output_modalities, endpoints, top_endpoint }: Model,
  output: OutputModality,
): boolean {
  if (!output_modalities.includes(output)) return false
  return (
    output !== 'text' ||
    [top_endpoint, ...endpoints].some(({ wireFormats }) => wireFormats.some(isTextWireFormat))
  )
}

export type ImageCapabilities = NonNullable<DeclaredModel['image']>
export type VideoCapabilities = NonNullable<DeclaredModel['video']>

export interface SpeechCapabilities {
  /** Null: every format that the wire format can request. */
  readonly formats: readonly SpeechFormat[] | null
  /** Null: unknown, and any name is accepted. */
  readonly voices: readonly string[] | null
  /** The voices are examples, and any other name is accepted. */
  readonly accepts_unlisted_voices: boolean
  readonly default_voice: string | null
  /** Fields that are dropped and reported. */
  readonly unsupported_fields: readonly SpeechField[]
  readonly supports_voice_cloning: boolean
  /** Whether it is billed by token, and reports tokens if the reply is requested as events. */
  readonly reports_usage: boolean
}

/** One model at one provider: what a request is routed to. Fields have the names of the API. */
export interface Endpoint {
  /** Model and tag: unlike the object, it stays the same after a reload. */
  readonly id: string
  readonly model_id: string
  readonly provider: CatalogProvider
  /** `provider` or `provider/variant`: the name that requests select it by. */
  readonly tag: string
  readonly upstream_model: string
  readonly context_length: number | null
  readonly max_completion_tokens: number | null
  readonly max_prompt_tokens: number | null
  readonly quantization: NonNullable<DeclaredEndpoint['quantization']> | null
  /** A service tier with its own prices, which a request must select. */
  readonly service_tier: NonNullable<DeclaredEndpoint['service_tier']> | null
  readonly supported_parameters: readonly ParameterName[]
  /** The same as a set. */
  readonly supports: ReadonlySet<string>
  /** Parameters it does not support: they are dropped and reported. */
  readonly unsupported_parameters: ReadonlySet<string>
  readonly wireFormats: readonly WireFormatName[]
  readonly regions: readonly DataRegion[]
  readonly data_policy: DataPolicy
  readonly pricing: EndpointPricing | null
  /** USD for a million prompt and a million completion tokens, for comparisons; infinite if unknown. */
  readonly price: number
  readonly prompt_unit: DeclaredEndpoint['prompt_unit']
  readonly price_state: PriceState
  /** The tokens of its images; null if they are not known. */
  readonly image_tokens: ImageTokens | null
  /** Only for models that generate images. */
  readonly image: ImageCapabilities | null
  /** Only for models that generate videos. */
  readonly video: VideoCapabilities | null
  /** Only for models that generate speech. */
  readonly speech: SpeechCapabilities | null
  /** Whether it tells speakers apart; null if that is not declared. */
  readonly supports_diarization: boolean | null
  /** Declared for the endpoint, its model or its provider; null if nothing is. */
  readonly attempts: AttemptPolicy | null
  /** The declared rates that count its requests; null if there are none. */
  readonly rates: readonly DeclaredRate[] | null
}

export interface Model
  extends Readonly<
    Omit<DeclaredModel, 'endpoints' | 'canonical_slug' | 'supported_parameters' | 'input_modalities'>
  > {
  readonly supported_parameters: readonly ParameterName[]
  readonly input_modalities: NonNullable<DeclaredModel['input_modalities']>
  /** The declaration says what it reads; otherwise it is taken for a model of text. */
  readonly declares_input: boolean
  /** Shared by the variants of a model, and permanent: policies name models by it. */
  readonly canonical_slug: string
  readonly author: string
  /** Unix time of the release, or of the declaration if that is unknown. */
  readonly listed_at: number
  readonly vendor: VendorName | null
  /** The endpoints of the model: at least one, except for router models. */
  readonly endpoints: readonly Endpoint[]
  /** Endpoints that can be called, cheapest first, unknown prices last. */
  readonly callable: readonly Endpoint[]
  /** Selected with the suffix `:thinking`: reasoning is on unless the request disables it. */
  readonly reasons_by_default?: true
  /** The endpoint whose limits and prices are shown for the model. */
  readonly top_endpoint: Endpoint
}
