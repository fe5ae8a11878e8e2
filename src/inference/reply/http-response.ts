import type { Gateway } from '../../gateway/gateway.ts'
import { minCompressedBytes, shortResponses } from '../../platform/http/response-traits.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { encodeJsonChunks, estimateJsonLength } from '../../platform/json/long-json.ts'
import { sliceText } from '../../platform/text/slice-text.ts'
import type { ClientFormat } from '../request/client-format.ts'
import type { RequestState } from '../request/inference-request.ts'

/** Longer replies are encoded in chunks, as the client reads them. */
const chunkedReplyLength = 1024 * 1024

/** `receivedLength` is that of the text the body was made from, where it is known: it need not be estimated then. */
export function toJsonResponse(
  { timeSlicer }: Gateway,
  body: JsonObject,
  headers: Record<string, string>,
  receivedLength: number | null = null,
): Response {
  const isLong = (receivedLength ?? estimateJsonLength(body, chunkedReplyLength)) >= chunkedReplyLength
  const text = isLong ? null : JSON.stringify(body)
  const response = new Response(text ?? timeSlicer.iterate(encodeJsonChunks(body)), {
    headers: {
      'content-type': 'application/json;charset=utf-8',
      ...(isLong && chunkedHeaders),
      ...headers,
    },
  })
  if (text !== null && text.length < minCompressedBytes) shortResponses.add(response)
  return response
}

/** Headers of a response that is sent in chunks: compression would collect it in memory. */
const chunkedHeaders = { 'cache-control': 'no-transform' }

/** The pieces of a long text are sent one by one. */
export function toTextResponse(
  { timeSlicer }: Gateway,
  text: string | readonly string[],
  headers: Record<string, string>,
): Response {
  if (typeof text === 'string') return new Response(text, { headers })
  const length = text.reduce((sum, piece) => sum + piece.length, 0)
  if (length <= chunkedReplyLength) return new Response(text.join(''), { headers })
  return new Response(timeSlicer.iterate(slicePieces(text)), { headers: { ...chunkedHeaders, ...headers } })
}

/** Joining megabytes would block the event loop. */
function* slicePieces(pieces: readonly string[]): Generator<string> {
  for (const piece of pieces) yield* sliceText(piece, sliceLength)
}

/** Characters written to a client at once: the runtime copies what the client does not read yet. */
export const sliceLength = 64 * 1024

/** A long chunk in parts that are written one by one. */
export function sliceChunk(chunk: string): Iterable<string>
export function sliceChunk(chunk: string | Uint8Array): Iterable<string | Uint8Array>
export function sliceChunk(chunk: string | Uint8Array): Iterable<string | Uint8Array> {
  return typeof chunk === 'string' ? sliceText(chunk, sliceLength) : sliceBytes(chunk)
}

function* sliceBytes(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += sliceLength) yield bytes.subarray(at, at + sliceLength)
}

export function buildStreamHeaders({ replyCodec }: ClientFormat): Record<string, string> {
  return {
    'content-type': replyCodec.streamContentType ?? 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  }
}

export function listDroppedFields({ attempts }: RequestState): string[] {
  return attempts.translation?.upstreamRequest.dropped ?? []
}

export function buildReplyHeaders(request: RequestState, dropped: string[]): Record<string, string> {
  const headers: Record<string, string> = { 'x-generation-id': request.id }
  const { droppedTags } = request.options
  const names = droppedTags.length === 0 ? dropped : [...new Set([...dropped, ...droppedTags])]
  if (names.length > 0) headers['x-headgate-dropped'] = toHeaderList(names)
  return Object.assign(headers, request.replyHeaders)
}

/** Clients reject a response whose headers are too long. */
const maxHeaderLength = 2000

function toHeaderList(names: string[]): string {
  const list = names.map((name) => name.replace(/[^\x21-\x7e]|,/g, '?')).join(', ')
  return list.length > maxHeaderLength ? `${list.slice(0, maxHeaderLength)}...` : list
}
