import { findImageTokens } from '../formats/images/image-tokens.ts'
import {
  isTextWireFormat,
  maxImageReferences,
  type ParameterName,
  type VendorName,
} from '../formats/vocabulary.ts'
import { combinePolicies, compilePolicy } from './attempt-policy.ts'
import { commonParameters, type DeclaredEndpoint, type DeclaredModel, tagOf } from './declared-model.ts'
import { compilePricing, lacksTokenPrice } from './endpoint-pricing.ts'
import type { CatalogProvider, Endpoint, ImageCapabilities, Model, SpeechCapabilities } from './model.ts'
import { type EndpointPricing, estimatePerMillion, listPrices, resolvePriceState } from './price.ts'
import type { Provider } from './provider.ts'
import { compileRates } from './rate-limits.ts'

const textOnly: Model['input_modalities'] = ['text']

/** What a model is compiled from besides its declaration. */
interface CompiledModel {
  /** Those of its endpoints. */
  providers: readonly (CatalogProvider | undefined)[]
  vendor: VendorName | null
  listedAt: number
  models: Model[]
}

/** The latest of each declaration: a change of one model or provider leaves hundreds of others as they are. */
const compiledModels = new WeakMap<DeclaredModel, CompiledModel>()

/** Empty for a model without any known provider. */
export function compileModel(
  declared: DeclaredModel,
  providersBySlug: ReadonlyMap<string, CatalogProvider>,
  vendors: ReadonlyMap<string | undefined, VendorName | undefined>,
  listedAt: number,
): Model[] {
  const providers = declared.endpoints.map(({ provider }) => providersBySlug.get(provider))
  const vendor = vendors.get(authorOf(declared)) ?? null
  const known = compiledModels.get(declared)
  const isSame =
    known?.vendor === vendor &&
    known.listedAt === listedAt &&
    known.providers.every((provider, index) => provider === providers[index])
  if (isSame) return known.models
  const models = compile(declared, { providers, vendor, listedAt })
  compiledModels.set(declared, { providers, vendor, listedAt, models })
  return models
}

function authorOf({ id }: DeclaredModel): string {
  return id.slice(0, id.indexOf('/'))
}

function compile(
  declared: DeclaredModel,
  { providers, vendor, listedAt }: Omit<CompiledModel, 'models'>,
): Model[] {
  const { endpoints: declaredEndpoints, canonical_slug, ...rest } = declared
  const endpoints = declaredEndpoints.flatMap((endpoint, index) => {
    const provider = providers[index]
    return provider ? [toEndpoint(endpoint, declared, provider)] : []
  })
  const topEndpoint = findTopEndpoint(endpoints)
  if (!topEndpoint) return []
  const slug = canonical_slug ?? declared.id.replace(/:.*$/, '')
  return [
    {
      ...rest,
      supported_parameters: rest.supported_parameters ?? commonParameters,
      input_modalities: rest.input_modalities ?? textOnly,
      declares_input: rest.input_modalities !== undefined,
      canonical_slug: slug,
      author: authorOf(declared),
      listed_at: listedAt,
      vendor,
      endpoints,
      callable: sortCheapestFirst(endpoints.filter(({ provider }) => provider.enabled)),
      top_endpoint: topEndpoint,
    },
  ]
}

/** Prices of other units count as much as a million tokens: endpoints of one model are billed alike. */
function computePrice(pricing: EndpointPricing | null): number {
  if (!pricing) return Number.POSITIVE_INFINITY
  const { prompt, completion, discount } = pricing
  const units = pricing.units?.reduce((sum, { cost_usd }) => sum + Number(cost_usd), 0) ?? 0
  return estimatePerMillion(prompt, discount) + estimatePerMillion(completion, discount) + units
}

/** The difference of two unknown prices is NaN: they count as equal. */
function sortCheapestFirst(endpoints: readonly Endpoint[]): Endpoint[] {
  return endpoints.toSorted((a, b) => a.price - b.price || 0)
}

/** Parameters of sampling, which can be dropped without changing what the request means. */
const samplingParameters: readonly ParameterName[] = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'top_a',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'seed',
  'logit_bias',
  'logprobs',
  'top_logprobs',
]

/** The parameters of an endpoint as sets, which are the same for many endpoints. */
interface ParameterSets {
  supports: ReadonlySet<string>
  /** Unsupported parameters by the fields that the provider rejects. */
  unsupported: Map<readonly string[], ReadonlySet<string>>
}

const parameterSets = new WeakMap<readonly ParameterName[], ParameterSets>()

function parameterSetsOf(supported: readonly ParameterName[]): ParameterSets {
  const known = parameterSets.get(supported)
  if (known) return known
  const sets = { supports: new Set(supported), unsupported: new Map() }
  parameterSets.set(supported, sets)
  return sets
}

const noFields: readonly string[] = []

/** Finds the unsupported parameters: only those that the provider rejects, if none are declared. */
function findUnsupportedParameters(
  provider: Provider,
  { service_tier }: DeclaredEndpoint,
  supported: readonly ParameterName[] | undefined,
): ReadonlySet<string> {
  const { unsupportedFields = noFields } = provider
  // An endpoint of a service tier always sends it, even where the provider rejects it otherwise.
  const fields = service_tier
    ? unsupportedFields.filter((name) => name !== 'service_tier')
    : unsupportedFields
  if (!supported) return new Set(fields)
  const { supports, unsupported } = parameterSetsOf(supported)
  const known = unsupported.get(fields)
  if (known) return known
  const set = new Set([...fields, ...samplingParameters.filter((name) => !supports.has(name))])
  if (fields === unsupportedFields) unsupported.set(fields, set)
  return set
}

function toEndpoint(declared: DeclaredEndpoint, model: DeclaredModel, provider: CatalogProvider): Endpoint {
  const image = model.output_modalities.includes('image')
    ? withReferences(declared.image ?? model.image ?? noImageCapabilities, model)
    : null
  const video = model.output_modalities.includes('video')
    ? (declared.video ?? model.video ?? noVideoCapabilities)
    : null
  const pricing = compilePricing(declared, image, video)
  const wireFormats = declared.dialects ?? provider.wireFormats
  const tag = tagOf(declared)
  const supported = declared.supported_parameters ?? model.supported_parameters ?? commonParameters
  const id = `${model.id} ${tag}`
  return {
    id,
    model_id: model.id,
    provider,
    tag,
    service_tier: declared.service_tier ?? null,
    upstream_model: declared.upstream_model,
    context_length: declared.context_length ?? model.context_length,
    max_completion_tokens: declared.max_completion_tokens ?? null,
    max_prompt_tokens: declared.max_prompt_tokens ?? null,
    quantization: declared.quantization ?? null,
    supported_parameters: supported,
    supports: parameterSetsOf(supported).supports,
    unsupported_parameters: findUnsupportedParameters(
      provider,
      declared,
      declared.supported_parameters ?? model.supported_parameters,
    ),
    wireFormats: lacksTokenPrice(declared, image, video)
      ? wireFormats.filter((name) => !isTextWireFormat(name))
      : wireFormats,
    regions: declared.regions ?? provider.regions,
    data_policy: declared.data_policy ?? provider.dataPolicy,
    pricing,
    price: computePrice(pricing),
    prompt_unit: declared.prompt_unit,
    price_state: resolvePriceState(pricing ? listPrices(pricing) : []),
    image_tokens: image && findImageTokens(declared.upstream_model),
    image,
    video,
    speech: model.output_modalities.includes('speech') ? compileSpeech(declared, model, provider) : null,
    supports_diarization: { ...model.transcription, ...declared.transcription }.supports_diarization ?? null,
    attempts: combinePolicies(
      compilePolicy(provider.attemptPolicy ?? {}),
      compilePolicy(model),
      compilePolicy(declared),
    ),
    rates: compileRates({ id, rate_limits: declared.rate_limits }, provider),
  }
}

const noImageCapabilities = {
  supported_parameters: {},
  allowed_passthrough_parameters: [],
  supports_streaming: false,
  pricing: [],
}

/** A model that takes images can edit them; the lists of parameters that vendors publish do not say so. */
function withReferences(image: ImageCapabilities, { input_modalities }: DeclaredModel): ImageCapabilities {
  const { supported_parameters: supported } = image
  const isDeclared = Object.keys(supported).length === 0 || 'input_references' in supported
  if (isDeclared || !input_modalities?.includes('image')) return image
  const input_references = { type: 'range' as const, min: 0, max: maxImageReferences }
  return { ...image, supported_parameters: { ...supported, input_references } }
}

const noVideoCapabilities = { allowed_passthrough_parameters: [] }

function compileSpeech(
  declared: DeclaredEndpoint,
  model: DeclaredModel,
  provider: CatalogProvider,
): SpeechCapabilities {
  const traits = { ...provider.speech, ...model.speech, ...declared.speech }
  return {
    formats: traits.formats ?? null,
    voices: traits.voices ?? model.supported_voices,
    accepts_unlisted_voices: traits.accepts_unlisted_voices ?? false,
    default_voice: traits.default_voice ?? null,
    unsupported_fields: traits.unsupported_fields ?? [],
    supports_voice_cloning: traits.supports_voice_cloning ?? false,
    reports_usage: traits.reports_usage === true && declared.prompt_unit === 'token',
  }
}

/** Prefers the default tier, then enabled providers, then known prices. A disabled endpoint still describes the model. */
function findTopEndpoint(endpoints: readonly Endpoint[]): Endpoint | undefined {
  const computeRank = ({ provider, price_state, service_tier }: Endpoint) =>
    (service_tier ? 0 : 4) + (provider.enabled ? 2 : 0) + (price_state === 'unknown' ? 0 : 1)
  return endpoints.toSorted((a, b) => computeRank(b) - computeRank(a))[0]
}
