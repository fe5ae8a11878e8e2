import type { ImageEvent } from '../../formats/call/images.ts'
import type { ImageWireFormat } from '../../formats/images/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { type FrameReader, SseError, type SseFrame, SseReader } from '../../platform/http/sse.ts'
import { JsonError } from '../../platform/json/json-error.ts'
import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import { parseLongJson } from '../../platform/json/long-json.ts'
import { unexpectedReplyError } from '../failures/errors.ts'
import { RedactedFrames } from '../failures/redact-secrets.ts'
import { readJsonBody } from '../upstream/decode-reply.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import type { UpstreamResponse } from '../upstream/send.ts'

/** The events of a reply, whether the upstream sends it whole or as a stream. */
export async function* readImageEvents(
  gateway: Gateway,
  exchange: UpstreamExchange,
  upstream: UpstreamResponse,
  wireFormat: ImageWireFormat,
): AsyncGenerator<ImageEvent> {
  const { decodeFrame } = wireFormat
  const isStream = upstream.response.headers.get('content-type')?.startsWith('text/event-stream')
  if (!isStream || !decodeFrame) {
    yield* wireFormat.decodeReply(await readJsonBody(exchange, upstream))
    return
  }
  for await (const frame of readFrames(gateway, exchange, upstream)) {
    if (frame.truncated) return
    const data = await parseFrame(frame, upstream.maxValues)
    if (data) yield* decodeFrame(data)
  }
}

async function* readFrames(
  { timeSlicer }: Gateway,
  exchange: UpstreamExchange,
  { response, secrets, maxBytes, maxValues }: UpstreamResponse,
): AsyncGenerator<SseFrame> {
  const reader: FrameReader = new RedactedFrames(new SseReader(), secrets, maxValues)
  let size = 0
  try {
    for await (const chunk of response.body ?? []) {
      size += chunk.byteLength
      if (size > maxBytes) throw unexpectedReplyError('The reply from the provider is too large.')
      for (let turn = timeSlicer.pendingYield; turn; turn = timeSlicer.pendingYield) await turn
      yield* timeSlicer.runCounted(() => reader.push(chunk))
    }
    yield* reader.end()
  } catch (error) {
    if (error instanceof SseError)
      throw unexpectedReplyError(`The provider sent a stream in which ${error.message}.`)
    throw exchange.toError(error)
  }
}

/** Parses a frame; undefined for the marker at the end of a stream. */
async function parseFrame({ data }: SseFrame, maxValues: number): Promise<JsonObject | undefined> {
  if (data === '[DONE]' || data === '') return undefined
  try {
    return asObject(await parseLongJson(data, maxValues))
  } catch (error) {
    if (error instanceof JsonError) throw unexpectedReplyError('The provider sent an event that is not JSON.')
    throw error
  }
}
