import { spliceJson } from '../../lib/json-splice.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import type { UpstreamCall } from './send.ts'
import type { Translation } from './translate.ts'

/** The HTTP request for an upstream. A pass-through forwards the client's text, and its headers that belong to the format. */
export function buildUpstreamCall(request: InferenceRequest, translation: Translation): UpstreamCall {
  const { dialect, upstreamRequest, access } = translation
  const { upstream, passthrough, name } = dialect
  const forwarded = translation.isPassThrough ? pickHeaders(passthrough.headers, request) : {}
  const encoded = {
    path: upstreamRequest.path,
    headers: { ...upstreamRequest.headers, ...forwarded },
    body: upstreamRequest.body,
  }
  const { upstream_model: model, provider } = access.endpoint
  const wire = provider.wire?.[name]
  const adapted = wire?.adaptRequest({ ...encoded, model, stream: request.content.call.stream }) ?? encoded
  const { path, headers, body } = adapted
  const encodedBody = translation.isPassThrough
    ? spliceJson(translation.verbatim.text, translation.verbatim.body, body)
    : JSON.stringify(body)
  return { path, headers, upstream, access, body: encodedBody, isAdapted: wire !== undefined }
}

function pickHeaders(names: readonly string[], { httpRequest }: InferenceRequest): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of names) {
    const value = httpRequest.headers.get(name)
    if (value !== null) headers[name] = value
  }
  return headers
}
