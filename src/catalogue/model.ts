import type { Credential } from './credential.ts'
import type { DeclaredEndpoint, DeclaredModel } from './declared-model.ts'
import type { PriceState, Pricing } from './price.ts'
import type { DataPolicy, Provider } from './provider.ts'
import type { ProviderSettings } from './provider-settings.ts'
import type { DataRegion, DialectName, ParameterName, VendorName } from './vocabulary.ts'

/** A provider as this installation has it. */
export interface CatalogueProvider extends Provider {
  /** It has what it needs to be called with the installation's own credential. */
  enabled: boolean
  installation: ProviderInstallation
}

/** What the installation itself has for a provider. */
export interface ProviderInstallation {
  credential: Credential
  settings: ProviderSettings
  /** The base URL with its gaps filled; null while something is missing. */
  address: string | null
  /** Why the credential is of no use; null when it is of use, or there is none. */
  problem: string | null
}

/** It is called without a key: one of a caller's own would pay for nothing there. */
export function isKeyless({ enabled, installation }: CatalogueProvider): boolean {
  return enabled && installation.credential.kind === 'none'
}

export type ImageCapabilities = NonNullable<DeclaredModel['image']>

/** One model on one provider: what a request is routed to. Names are those of the API. */
export interface Endpoint {
  /** Model and tag: unlike the object, the same after a reload. */
  readonly id: string
  readonly model_id: string
  readonly provider: CatalogueProvider
  /** `provider` or `provider/variant`: what requests select it by. */
  readonly tag: string
  readonly upstream_model: string
  readonly context_length: number | null
  readonly max_completion_tokens: number | null
  readonly max_prompt_tokens: number | null
  readonly quantization: NonNullable<DeclaredEndpoint['quantization']> | null
  /** Served by a lane of the provider with prices of its own, which a request must ask for. */
  readonly service_tier: NonNullable<DeclaredEndpoint['service_tier']> | null
  readonly supported_parameters: readonly ParameterName[]
  /** The same, to look up. */
  readonly supports: ReadonlySet<string>
  /** Sampling parameters it is known not to take; none when nobody said what it takes. */
  readonly unsupported_parameters: ReadonlySet<string>
  readonly dialects: readonly DialectName[]
  readonly regions: readonly DataRegion[]
  readonly data_policy: DataPolicy
  readonly pricing: Pricing | null
  /** Of a million tokens in and a million out, in USD, for comparisons; infinite where nobody knows. */
  readonly price: number
  readonly prompt_unit: DeclaredEndpoint['prompt_unit']
  readonly price_state: PriceState
  /** Only for models that make images. */
  readonly image: ImageCapabilities | null
}

export interface Model
  extends Readonly<Omit<DeclaredModel, 'endpoints' | 'canonical_slug' | 'supported_parameters'>> {
  readonly supported_parameters: readonly ParameterName[]
  /** Shared by the variants of a model, and never changed: policies name models by it. */
  readonly canonical_slug: string
  readonly author: string
  /** Unix time of the release; where nobody knows that, of when the model was declared. */
  readonly listed_at: number
  readonly vendor: VendorName | null
  /** At least one. */
  readonly endpoints: readonly Endpoint[]
  /** Those that can be called, cheapest first; a price nobody knows comes last. */
  readonly callable: readonly Endpoint[]
  /** Asked for with the suffix `:thinking`, without being a model of its own: it thinks unless told otherwise. */
  readonly reasons_by_default?: true
  /** The endpoint whose limits and prices stand for the model. */
  readonly top_endpoint: Endpoint
}
