import type { Caller } from '../../access/caller.ts'
import type { ByokKey } from '../../catalog/byok-keys.ts'
import { type CatalogProvider, isKeyless } from '../../catalog/model.ts'
import type { DataRegion } from '../../formats/vocabulary.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import {
  assertRegionAllowed,
  findEndpointBlock,
  findProviderBlock,
  isZdrEnforced,
} from '../../governance/policy/guard.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import { parseRequestUrl } from '../../platform/http/request-url.ts'
import { assertEndUserAllowed } from '../guard/blocked-end-user.ts'
import { admit } from '../hold/admit.ts'
import type { RequestState, Routed, Unguarded } from '../request/inference-request.ts'
import { createState } from '../request/parse.ts'
import { assertNotRejected } from '../request/routing-rules.ts'
import { createCandidate } from '../routing/candidate.ts'
import { isKeyForModel } from '../routing/filter.ts'
import { rejectRequest } from '../settle/reject.ts'
import { type ProviderAccess, resolveByokAccess, resolveInstallationAccess } from '../upstream/access.ts'
import { type ReceivedBody, receiveBody } from './body.ts'
import { selectRequestHeaders } from './headers.ts'
import { matchesPath, normalizePath, removeBasePath, removeKeys } from './path.ts'
import { relayRequest } from './relay.ts'
import type { PassthroughMethod, PassthroughRule } from './settings.ts'
import {
  findNamedEndpoint,
  type NamedEndpoint,
  readModelName,
  readTier,
  selectTarget,
  type Target,
} from './target.ts'

export interface IncomingPassthrough {
  caller: Caller
  region: DataRegion
  httpRequest: Request
  method: PassthroughMethod
  /** The slug of the provider. */
  provider: string
}

/** An operation of a provider as the client has sent it: authorize, guard, price, admit, relay, settle. */
export async function handlePassthrough(gateway: Gateway, incoming: IncomingPassthrough): Promise<Response> {
  const { httpRequest, method } = incoming
  const startedAt = performance.now()
  const provider = requireProvider(gateway, incoming.provider)
  const url = parseRequestUrl(httpRequest)
  const address = provider.installation.address ?? provider.baseUrl
  const path = removeBasePath(normalizePath(url.pathname, provider.slug), address)
  const rule = requireRule(gateway, incoming, provider, path)
  const keyContext = await gateway.accounts.findContext(incoming.caller.key)
  const mustBeWhole = provider.auth !== undefined
  const received = await receiveBody(gateway, httpRequest, mustBeWhole)
  const named = findModel(gateway, provider, path, received)
  const target = selectTarget(provider, named.endpoint, rule.price ?? null)
  const state = createRequest(gateway, incoming, { startedAt, keyContext, received, target, path })
  try {
    const request = guard(state, { rule, provider, named, received })
    const { access, byokKey } = selectAccess(gateway, request, target)
    const candidate = createCandidate(target.model, target.endpoint, byokKey)
    const candidates = [candidate]
    request.plan = {
      candidates,
      exclusions: [],
      resolvedModels: [],
      healthSnapshot: null,
      qualityFloor: null,
    }
    const admitted = await admit<RequestState>(gateway, request as Routed)
    return await relayRequest(gateway, admitted, {
      ...{ method, access, candidate, isByToken: target.isByToken },
      path: path + removeKeys(url.search),
      headers: selectRequestHeaders(httpRequest.headers, provider),
      ...{ body: received.body, problem: received.problem },
    })
  } catch (error) {
    rejectRequest(gateway, state, error)
    throw error
  }
}

function requireProvider({ catalog }: Gateway, name: string): CatalogProvider {
  const provider = catalog.providers.find(({ slug }) => slug === name)
  if (provider && !provider.inProcess) return provider
  throw gatewayError(
    'not_found',
    `The provider "${name.slice(0, 100)}" does not exist, or has no operations.`,
  )
}

function requireRule(
  { settings }: Gateway,
  { caller, method }: IncomingPassthrough,
  { slug }: CatalogProvider,
  path: string,
): PassthroughRule {
  const { workspace_id } = caller.key
  const rule = settings.passthrough.find(
    ({ provider, methods, workspaces, ...others }) =>
      provider === slug &&
      methods.includes(method) &&
      (workspaces === 'all' || workspaces.includes(workspace_id)) &&
      matchesPath(others, path),
  )
  if (rule) return rule
  throw gatewayError(
    'forbidden',
    `Pass-through of ${method} ${path.slice(0, 200)} at ${slug} is not allowed for this workspace. The operator allows operations with \`passthrough\` in headgate.yaml.`,
  )
}

/** The model that a request names: its name, and its endpoint if the catalog has it. */
interface NamedModel {
  name: string | null
  endpoint: NamedEndpoint | null
}

function findModel(
  gateway: Gateway,
  provider: CatalogProvider,
  path: string,
  { json }: ReceivedBody,
): NamedModel {
  const name = readModelName(path, json)
  return { name, endpoint: name === null ? null : findNamedEndpoint(gateway, provider, name, readTier(json)) }
}

interface Parsed {
  startedAt: number
  keyContext: RequestState['keyContext']
  received: ReceivedBody
  target: Target
  path: string
}

function createRequest(
  gateway: Gateway,
  incoming: IncomingPassthrough,
  { startedAt, keyContext, received, target, path }: Parsed,
): Unguarded<RequestState> {
  const { size, json } = received
  const requested = `${incoming.method} ${path}`
  const body = { model: target.model.id }
  const state: Unguarded<RequestState> = createState(gateway, incoming, {
    startedAt,
    keyContext,
    format: { name: 'passthrough', task: 'passthrough' },
    content: {
      plain: null,
      call: { messages: [], stream: json?.stream === true, unknown: [] },
      stream: json?.stream === true,
      promptTokens: Math.ceil(size.promptTokens / 4),
      body,
      received: { characters: 0, isLarge: false, model: requested },
      measure: () => size,
    },
    presetId: null,
  })
  // The body has the provider's form: plugins, aliases and content logs do not apply to it.
  return Object.assign(state, {
    ...{ work: null, funds: null, logsContent: false },
    options: { ...state.options, models: [target.model.id], requested },
  })
}

interface GuardedFacts {
  rule: PassthroughRule
  provider: CatalogProvider
  named: NamedModel
  received: ReceivedBody
}

/** Applies the policy of the key, as far as it can be applied to a body that is not read; refuses the rest. */
function guard(state: Unguarded<RequestState>, facts: GuardedFacts): RequestState {
  const { keyContext, region } = state
  const { policy, contentRules, defaultPlugins } = keyContext
  const { rule, provider, named, received } = facts
  if (state.rule) assertNotRejected(state)
  if (keyContext.blockedEndUsers) assertEndUserAllowed(state)
  assertRegionAllowed(policy, region)
  const isScanned = contentRules !== null || defaultPlugins.some(({ id }) => id === 'moderation')
  if (isScanned && rule.unscanned !== 'allow')
    throw blockedError('content filters do not read pass-through requests')
  const field = findProviderBlock(policy, { provider })
  if (field) throw blockedError(field)
  const restrictsModels = policy.allowed_models.values !== null || policy.ignored_models.length > 0
  const isUnknownModel = named.endpoint === null && (named.name !== null || received.isStreamed)
  if (restrictsModels && isUnknownModel)
    throw blockedError('allowed_models: the model of this request is not known')
  const { endpoint } = named
  const block = endpoint && findEndpointBlock(policy, endpoint.model, endpoint.endpoint)
  if (block) throw blockedError(block)
  return Object.assign(state, { isGuarded: true as const })
}

function blockedError(reason: string) {
  return gatewayError('guardrail_blocked', `A guardrail blocked this request (${reason}).`)
}

interface SelectedAccess {
  access: ProviderAccess
  byokKey: ByokKey | null
}

/** The credential of a request: a BYOK key, the installation's, or a BYOK key for when there is no other. */
function selectAccess(
  gateway: Gateway,
  { keyContext, region }: RequestState,
  { model, endpoint }: Target,
): SelectedAccess {
  const { provider } = endpoint
  if (region !== 'global' && !endpoint.regions.includes(region))
    throw gatewayError('region_refused', `${provider.name} is not available in the region ${region}.`)
  if (isZdrEnforced(keyContext.policy, model, endpoint)) throw blockedError('enforce_zdr')
  const keys = keyContext.byokKeys.filter((key) => key.provider === provider.slug)
  const usable = isKeyless(provider) ? [] : keys.filter((key) => isKeyForModel(key, model))
  const first = usable.find(({ isFallback }) => !isFallback)
  const isShared =
    provider.enabled && !keys.some((key) => key.isByokOnly || (key.isRequired && isKeyForModel(key, model)))
  const byokKey = first ?? (isShared ? undefined : usable[0]) ?? null
  if (!byokKey && !isShared)
    throw gatewayError('no_endpoints', `No credential of ${provider.name} may be used by this key.`)
  const access = byokKey
    ? resolveByokAccess(gateway, provider, byokKey, region)
    : resolveInstallationAccess(provider)
  return { access, byokKey }
}
