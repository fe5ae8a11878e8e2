import { spliceJson } from '../../platform/json/json-splice.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import type { UpstreamCall } from './send.ts'
import type { Translation } from './translate.ts'

/** The HTTP request for an upstream. A pass-through forwards the client's text, and its headers that belong to the format. */
export function buildUpstreamCall(request: InferenceRequest, translation: Translation): UpstreamCall {
  const headers = translation.isPassThrough ? translation.wireFormat.passthrough.headers : []
  const forwarded = headers.length > 0 ? pickHeaders(headers, request) : {}
  const { body, ...call } = adaptCall(translation, request.content.stream, forwarded)
  const encodedBody = translation.isPassThrough
    ? spliceJson(translation.verbatim.text, translation.verbatim.body, body)
    : JSON.stringify(body)
  return { ...call, body: encodedBody }
}

/** Applies the wire adapter of the provider, if it has one for the format. */
export function adaptCall(
  { wireFormat, upstreamRequest, access }: Pick<Translation, 'wireFormat' | 'upstreamRequest' | 'access'>,
  stream: boolean,
  forwarded: Record<string, string> = {},
): Omit<UpstreamCall, 'body'> & { body: JsonObject } {
  const { upstream, name } = wireFormat
  const encoded = {
    path: upstreamRequest.path,
    headers: { ...upstreamRequest.headers, ...forwarded },
    body: upstreamRequest.body,
  }
  const { upstream_model: model, provider } = access.endpoint
  const wire = provider.wire?.[name]
  const { path, headers, body } = wire?.adaptRequest({ ...encoded, model, stream }) ?? encoded
  return { path, headers, upstream, access, body, isAdapted: wire !== undefined }
}

function pickHeaders(names: readonly string[], { httpRequest }: InferenceRequest): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of names) {
    const value = httpRequest.headers.get(name)
    if (value !== null) headers[name] = value
  }
  return headers
}
