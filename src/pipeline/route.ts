import type { OwnKey } from '../account/own-keys.ts'
import { findModel } from '../catalog/lookup.ts'
import type { Endpoint, Model } from '../catalog/model.ts'
import { isGenerateDialect, parameterNames } from '../catalog/vocabulary.ts'
import { fieldNames } from '../dialects/fields.ts'
import { fail, GatewayError } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import type { Asked } from './asked.ts'
import { endpointBlocked } from './guard.ts'
import type { Preferences } from './wishes.ts'

export interface Candidate {
  model: Model
  endpoint: Endpoint
  /** The key of the caller's own that the provider is paid with; null: the installation's. */
  ownKey: OwnKey | null
}

/** Where a request may go, best first. */
export interface Plan {
  candidates: Candidate[]
}

/** Why an endpoint is not in the plan, in the words of `availability.excluded_by`. */
type Exclusion = string

export function route(gateway: Gateway, asked: Asked): Plan {
  const { models } = asked.wishes
  const found = models.map((slug) => requireModel(gateway, slug, models))
  const excluded: Exclusion[] = []
  const candidates = found.flatMap((model) =>
    ordered(
      gateway,
      model.callable.filter((endpoint) => {
        const reason = exclusionOf(gateway, asked, model, endpoint)
        if (reason) excluded.push(reason)
        return reason === undefined
      }),
      asked.wishes.provider,
    ).map((endpoint) => ({ model, endpoint, ownKey: null })),
  )
  const allowed = withoutFallbacks(gateway, candidates, asked.wishes.provider)
  if (allowed.length === 0) throw nothingLeft(models, found, excluded)
  return { candidates: allowed }
}

function requireModel(gateway: Gateway, slug: string, requested: string[]): Model {
  const found = findModel(gateway.catalog, slug)
  if (!found) {
    throw fail('model_unknown', `model: "${shortened(slug)}" is not a model of this gateway.`, {
      availability: { code: 'model_not_found', retryable: false, requested_models: requested.map(shortened) },
    })
  }
  const { model } = found
  if (
    model.output_modalities.some(
      (modality) => modality === 'text' || modality === 'image' || modality === 'audio',
    )
  ) {
    return model
  }
  throw fail(
    'model_wrong_endpoint',
    `model: "${shortened(slug)}" makes ${model.output_modalities.join(', ')}, not text.`,
    {
      availability: { code: 'wrong_endpoint', retryable: false, requested_models: requested.map(shortened) },
    },
  )
}

/** What a client wrote is repeated to it, but not at any length. */
function shortened(slug: string): string {
  return slug.length > 100 ? `${slug.slice(0, 100)}...` : slug
}

function exclusionOf(
  gateway: Gateway,
  asked: Asked,
  model: Model,
  endpoint: Endpoint,
): Exclusion | undefined {
  const { provider: wishes } = asked.wishes
  if (!endpoint.dialects.some(isGenerateDialect)) return 'dialect'
  if (!endpoint.regions.includes(asked.region)) return 'data_region'
  const blocked = endpointBlocked(asked.standing.policy, model, endpoint)
  if (blocked) return `guardrail:${blocked}`
  if (wishes.only && !isListed(gateway, wishes.only, endpoint)) return 'allowed_providers'
  if (wishes.ignore && isListed(gateway, wishes.ignore, endpoint)) return 'allowed_providers'
  if (wishes.data_collection === 'deny' && endpoint.data_policy.training) return 'data_policy:training'
  if (wishes.zdr && endpoint.data_policy.retains) return 'data_policy:zdr'
  if (wishes.quantizations && !wishes.quantizations.some((q) => q === (endpoint.quantization ?? 'unknown'))) {
    return 'quantization'
  }
  if (wishes.require_parameters && !supportsAll(asked, endpoint)) return 'require_parameters'
  return undefined
}

/** By slug, display name, neutral vendor name, or the tag of one endpoint. */
function isListed(gateway: Gateway, listed: readonly string[], endpoint: Endpoint): boolean {
  return listed.some((name) => isNamed(gateway, name, endpoint))
}

function isNamed(gateway: Gateway, name: string, endpoint: Endpoint): boolean {
  if (name === endpoint.tag) return true
  const byName = gateway.catalog.providerByName
  return (byName.get(name) ?? byName.get(name.toLowerCase()))?.slug === endpoint.provider.slug
}

/** Every parameter the client sent, by the name the catalogue has for it. */
function supportsAll({ call }: Asked, endpoint: Endpoint): boolean {
  const supported = new Set<string>(endpoint.supported_parameters)
  if (supported.has('max_completion_tokens')) supported.add('max_tokens')
  return Object.entries(fieldNames).every(([field, name]) => {
    const sent = call[field as keyof typeof fieldNames] !== undefined
    return !sent || !catalogued.has(name) || supported.has(name)
  })
}

/** What the catalogue says of endpoints; other fields are the dialects' business. */
const catalogued = new Set<string>(parameterNames)

/** Cheapest first, unless the request names an order: then those it names, then the rest. */
function ordered(
  gateway: Gateway,
  endpoints: readonly Endpoint[],
  { order }: Preferences,
): readonly Endpoint[] {
  if (!order || order.length === 0) return endpoints
  const place = (endpoint: Endpoint) => {
    const at = order.findIndex((name) => isNamed(gateway, name, endpoint))
    return at === -1 ? order.length : at
  }
  return endpoints.toSorted((a, b) => place(a) - place(b))
}

/** Without fallbacks: what `order` lists, or else the first choice. Other models are the client's own wish. */
function withoutFallbacks(
  gateway: Gateway,
  candidates: Candidate[],
  { allow_fallbacks, order }: Preferences,
): Candidate[] {
  if (allow_fallbacks !== false) return candidates
  if (order && order.length > 0)
    return candidates.filter(({ endpoint }) => isListed(gateway, order, endpoint))
  return candidates.filter(
    ({ model }, place) => candidates.findIndex((other) => other.model === model) === place,
  )
}

/** All of it because of a guardrail is a refusal; anything else is a want of providers. */
function nothingLeft(requested: string[], models: Model[], excluded: Exclusion[]): GatewayError {
  const [first] = excluded
  if (first !== undefined && excluded.every((reason) => reason.startsWith('guardrail:'))) {
    const fields = [...new Set(excluded.map((reason) => reason.slice('guardrail:'.length)))]
    return fail('guardrail_blocked', `A guardrail does not allow this request (${fields.join(', ')}).`)
  }
  const code = first === undefined ? 'no_endpoints' : 'constraint_filtered'
  const message =
    first === undefined
      ? `No provider of ${requested.map(shortened).join(', ')} is set up here.`
      : 'No available provider meets the requirements of this request.'
  return new GatewayError('no_provider', {
    message,
    metadata: {
      availability: {
        code,
        retryable: false,
        requested_models: requested.map(shortened),
        ...(first !== undefined && { excluded_by: [...new Set(excluded)] }),
        affected_providers: [
          ...new Set(models.flatMap((m) => m.endpoints.map(({ provider }) => provider.slug))),
        ],
      },
    },
  })
}
