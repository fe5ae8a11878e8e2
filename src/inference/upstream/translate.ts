import type { Endpoint, Model } from '../../catalog/model.ts'
import { commonCapabilities, commonReasoningHistory, type Provider } from '../../catalog/provider.ts'
import { upstreamFormats } from '../../formats/all.ts'
import type { ModelCall } from '../../formats/call/call.ts'
import { listUnimplementedFields } from '../../formats/fields.ts'
import { resolveReasoning } from '../../formats/reasoning-options.ts'
import { isTextWireFormat, type WireCapability } from '../../formats/vocabulary.ts'
import type { Target, UpstreamFormat, UpstreamRequest, WireFormat } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { type GatewayError, gatewayError } from '../../platform/errors/gateway-error.ts'
import type { ClientFormat } from '../request/client-format.ts'
import type { RequestContent, RequestSource } from '../request/content.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import type { PipelineStage } from '../request/work.ts'
import type { Candidate } from '../routing/candidate.ts'
import { resolveAccess, type UpstreamAccess } from './access.ts'
import { cachePrompt } from './cache-prompt.ts'
import { fitContext, isCompressed, shortContext } from './fit-context.ts'

/** A request encoded for one upstream. Pass-through needs the client's own text, which a rewritten request does not have. */
export type EncodedRequest = { upstreamRequest: UpstreamRequest } & (
  | { isPassThrough: true; wireFormat: WireFormat; verbatim: RequestSource }
  | { isPassThrough: false; wireFormat: UpstreamFormat }
)

export type Translation = EncodedRequest & {
  access: UpstreamAccess
  compression: PipelineStage | null
  /** Breakpoints for the provider's prompt cache that were added; absent if none were. */
  cacheBreakpoints?: number
}

/** Routing has excluded endpoints without a format of the task; a deployment of a BYOK key may still lack one. */
export function noFormatError(): GatewayError {
  return gatewayError('no_provider', 'The provider has no format for this request.')
}

/** Encodes a request. Decrypts the candidate's credential, so it is called right before the request is sent. */
export function translate(gateway: Gateway, request: InferenceRequest, candidate: Candidate): Translation {
  const access = resolveAccess(gateway, candidate, request.region)
  return { ...encodeFor(request, candidate.model, access.endpoint), access }
}

/** A prompt with fewer tokens is cached by no provider. The count is an estimate. */
const minCachedPrompt = 700

/** Encodes a request that is sent next, with breakpoints for the prompt cache of the provider where they pay. */
export function translateToSend(
  gateway: Gateway,
  request: InferenceRequest,
  candidate: Candidate,
): Translation {
  const access = resolveAccess(gateway, candidate, request.region)
  const encoded = { ...encodeFor(request, candidate.model, access.endpoint), access }
  const codec = encoded.wireFormat.upstream.promptCache
  if (!codec || !request.keyContext.cachesPrompts || !gateway.settings.prompt_caching.enabled) return encoded
  if (request.content.promptTokens < minCachedPrompt) return encoded
  const { upstreamRequest } = encoded
  const cached = cachePrompt(gateway, request, candidate, { codec, body: upstreamRequest.body })
  return cached
    ? {
        ...encoded,
        upstreamRequest: { ...upstreamRequest, body: cached.body },
        cacheBreakpoints: cached.count,
      }
    : encoded
}

/** Encodes a request for an endpoint; a strict request is rejected if a field would be dropped. */
export function encodeFor(
  request: InferenceRequest,
  model: Model,
  endpoint: Endpoint,
): EncodedRequest & { compression: PipelineStage | null } {
  const { context_length } = endpoint
  const mayCompress = request.work !== null || (context_length !== null && context_length <= shortContext)
  const fitted = mayCompress && isCompressed(request, model, endpoint) ? fitContext(request, endpoint) : null
  const encoded = passOrEncode(request.format, fitted?.content ?? request.content, model, endpoint)
  const hasDroppedFields = endpoint.provider.wire?.[encoded.wireFormat.name]?.droppedFields !== undefined
  const upstreamRequest = hasDroppedFields ? dropUnsupported(encoded, endpoint) : encoded.upstreamRequest
  const isUnchanged = request.content.plain && !request.work && !fitted
  const dropped = isUnchanged
    ? upstreamRequest.dropped
    : listDropped(request, fitted?.dropped ?? [], upstreamRequest)
  if (request.options.strict && dropped.length > 0)
    throw gatewayError(
      'loss_refused',
      `Strict mode: the provider does not support ${dropped.join(', ')}. Remove the fields, or x-headgate-strict.`,
      {
        dropped,
      },
    )
  return {
    ...encoded,
    upstreamRequest: { ...upstreamRequest, dropped },
    compression: fitted?.stage ?? null,
  }
}

/** Each name once, in alphabetical order. */
function listDropped(
  { content, work }: InferenceRequest,
  shortened: readonly string[],
  { body, dropped }: UpstreamRequest,
): string[] {
  const unimplemented = listUnimplementedFields(content.body, body, work?.tools != null)
  const all = [...dropped, ...unimplemented, ...shortened, ...(work?.dropped ?? [])]
  return all.length > 1 ? [...new Set(all)].sort() : all
}

/** Drops fields of the wire format that this provider rejects. */
function dropUnsupported(
  { wireFormat, upstreamRequest }: EncodedRequest,
  { provider }: Endpoint,
): UpstreamRequest {
  const present = provider.wire?.[wireFormat.name]?.droppedFields?.filter(
    (name) => upstreamRequest.body[name] !== undefined,
  )
  if (!present?.length) return upstreamRequest
  const body = Object.fromEntries(
    Object.entries(upstreamRequest.body).filter(([name]) => !present.includes(name)),
  )
  return { ...upstreamRequest, body, dropped: [...upstreamRequest.dropped, ...present].sort() }
}

function passOrEncode(
  { wireFormat }: ClientFormat,
  content: RequestContent,
  model: Model,
  endpoint: Endpoint,
): EncodedRequest {
  const { verbatim, body } = content
  if (!verbatim || !wireFormat || !endpoint.wireFormats.includes(wireFormat.name))
    return encodeWithFewestLosses(content.call, model, endpoint)
  const target = buildTarget(content, model, endpoint, wireFormat)
  const { passthrough } = wireFormat
  return {
    wireFormat,
    upstreamRequest:
      content.plain && passthrough.passPlain
        ? passthrough.passPlain(body, target)
        : passthrough.passRequest(body, target),
    isPassThrough: true,
    verbatim,
  }
}

/** Encodes a call that is not a client's. */
export function encodeCall(
  call: ModelCall,
  model: Model,
  endpoint: Endpoint,
): { wireFormat: UpstreamFormat; upstreamRequest: UpstreamRequest } {
  const encoded = encodeWithFewestLosses(call, model, endpoint)
  return { wireFormat: encoded.wireFormat, upstreamRequest: dropUnsupported(encoded, endpoint) }
}

/** Encodes a call in the wire format of the endpoint that drops the fewest fields; the first of equals. */
function encodeWithFewestLosses(call: ModelCall, model: Model, endpoint: Endpoint): EncodedRequest {
  const translations = endpoint.wireFormats.filter(isTextWireFormat).map((name) => {
    const wireFormat = upstreamFormats[name]
    const target = buildTarget(call, model, endpoint, wireFormat)
    const upstreamRequest = wireFormat.upstream.encodeRequest(applyReasoning(call, target), target)
    return { wireFormat, upstreamRequest, isPassThrough: false as const }
  })
  const [first, ...others] = translations
  if (!first) throw noFormatError()
  return others.reduce<EncodedRequest>(
    (best, next) => (next.upstreamRequest.dropped.length < best.upstreamRequest.dropped.length ? next : best),
    first,
  )
}

function applyReasoning(call: ModelCall, target: Target): ModelCall {
  const reasoning = resolveReasoning(call.reasoning, target)
  if (reasoning === call.reasoning) return call
  const { reasoning: _requested, ...rest } = call
  return reasoning ? { ...rest, reasoning } : rest
}

function buildTarget(
  { stream }: Pick<ModelCall, 'stream'>,
  model: Model,
  endpoint: Endpoint,
  wireFormat: UpstreamFormat,
): Target {
  const { provider } = endpoint
  const { reasoning } = model
  return {
    model: endpoint.upstream_model,
    stream,
    maxOutputTokens: endpoint.max_completion_tokens,
    reasoning: reasoning
      ? { efforts: reasoning.supported_efforts ?? null, budget: reasoning.supports_max_tokens === true }
      : null,
    signatureFormat: provider.signatures ?? wireFormat.upstream.defaults.signatureFormat,
    reasoningHistory: provider.reasoningHistory ?? commonReasoningHistory,
    unsupportedFields: endpoint.unsupported_parameters,
    capabilities: capabilitiesOf(provider),
    reasoningMode: reasoning?.mandatory ? 'always' : model.reasons_by_default ? 'default' : null,
    tier: endpoint.service_tier,
  }
}

const capabilitySets = new WeakMap<object, ReadonlySet<WireCapability>>()

/** A catalog is immutable, so the set of a provider is built once. */
function capabilitiesOf(provider: Provider): ReadonlySet<WireCapability> {
  const cached = capabilitySets.get(provider)
  if (cached) return cached
  const capabilities = new Set(provider.capabilities ?? commonCapabilities)
  capabilitySets.set(provider, capabilities)
  return capabilities
}
