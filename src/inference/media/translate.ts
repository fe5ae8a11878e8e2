import { listUnimplementedFields } from '../../formats/fields.ts'
import type { MediaUpstreamRequest, MediaWireFormat } from '../../formats/media.ts'
import type { WireFormatName } from '../../formats/vocabulary.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import type { AttemptedTranslation } from '../request/attempts.ts'
import type { Candidate } from '../routing/candidate.ts'
import { resolveAccess, type UpstreamAccess } from '../upstream/access.ts'
import { noFormatError } from '../upstream/translate.ts'
import type { MediaRequest, MediaSupport } from './task.ts'

/** A request encoded for one upstream. */
export interface MediaTranslation<D> extends AttemptedTranslation {
  wireFormat: D & { name: WireFormatName }
  upstreamRequest: MediaUpstreamRequest
}

/** Encodes a request for an endpoint; a strict request is rejected if a field would be dropped. */
export function translateMedia<Call, D extends MediaWireFormat<Call>>(
  gateway: Gateway,
  request: MediaRequest<Call>,
  candidate: Candidate,
  task: MediaSupport<Call, D>,
): MediaTranslation<D> {
  const access = resolveAccess(gateway, candidate, request.region)
  const wireFormat = findWireFormat(access, task)
  const { allowed, refused } = splitOptions(request, access, task)
  const { upstream_model: model, image, speech } = access.endpoint
  const standard = wireFormat.encodeRequest(request.media, { model, options: allowed, image, speech })
  const encoded = adaptToProvider(standard, access, wireFormat)
  const unimplemented = listUnimplementedFields(request.content.body, {})
  const ignored = [...(request.work?.dropped ?? []), ...(request.received.unknown ?? [])]
  const dropped = [...new Set([...encoded.dropped, ...refused, ...unimplemented, ...ignored])].sort()
  if (request.options.strict && dropped.length > 0)
    throw gatewayError(
      'loss_refused',
      `Strict mode: the provider does not support ${dropped.join(', ')}. Remove the fields, or x-headgate-strict.`,
      { dropped },
    )
  return { wireFormat, upstreamRequest: { ...encoded, dropped }, isPassThrough: false, access }
}

/** Applies the provider's deviations from the format. */
function adaptToProvider<Call>(
  request: MediaUpstreamRequest,
  { endpoint }: UpstreamAccess,
  { name }: MediaWireFormat<Call>,
): MediaUpstreamRequest {
  const { provider, unsupported_parameters, upstream_model: model } = endpoint
  const adapter = provider.wire?.[name]
  const { path, headers, dropped } = request
  const body = Array.isArray(request.body) ? adapter?.adaptForm?.(request.body) : request.body
  if (!body || body instanceof Uint8Array) return request
  const rejectedNames = [...unsupported_parameters, ...(adapter?.droppedFields ?? [])]
  const rejected = rejectedNames.filter((field) => body[field] !== undefined)
  const accepted = rejected.length === 0 ? body : omitFields(body, rejected)
  const adapted = adapter?.adaptRequest({ model, stream: false, path, headers, body: accepted })
  return { path, headers, body: accepted, ...adapted, dropped: [...dropped, ...rejected] }
}

function omitFields(body: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)))
}

function findWireFormat<Call, D extends MediaWireFormat<Call>>(
  { endpoint }: UpstreamAccess,
  { wireFormats }: MediaSupport<Call, D>,
): D {
  for (const name of endpoint.wireFormats) {
    const wireFormat = wireFormats[name]
    if (wireFormat) return wireFormat
  }
  throw noFormatError()
}

/** The options for this provider: those it accepts, and the names of the others. */
function splitOptions<Call, D extends MediaWireFormat<Call>>(
  { content }: MediaRequest<Call>,
  { endpoint }: UpstreamAccess,
  { listAllowedOptions }: MediaSupport<Call, D>,
): { allowed: JsonObject; refused: string[] } {
  const { slug } = endpoint.provider
  const sent = asObject(asObject(asObject(content.body.provider)?.options)?.[slug])
  if (!sent) return { allowed: {}, refused: [] }
  const names = listAllowedOptions?.(endpoint)
  const isAllowed = ([name]: [string, unknown]) => names === undefined || names.includes(name)
  const entries = Object.entries(sent)
  return {
    allowed: Object.fromEntries(entries.filter(isAllowed)),
    refused: entries.filter((entry) => !isAllowed(entry)).map(([name]) => `provider.options.${slug}.${name}`),
  }
}
