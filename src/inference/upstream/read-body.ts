import { StringBuilder } from '../../platform/text/string-builder.ts'
import { TimeSlicer, yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import { type UpstreamError, unexpectedReplyError } from '../failures/errors.ts'
import type { UpstreamExchange } from './exchange.ts'

/** The text of a response, within `maxBytes`. */
export async function readBounded(
  response: Response,
  maxBytes: number,
  exchange: UpstreamExchange,
): Promise<string> {
  const declared = Number(response.headers.get('content-length') ?? Number.NaN)
  if (declared > maxBytes) throw tooLargeError()
  // The declared length of a compressed body is not that of its text.
  const isKnown = declared <= maxTextBytes && !response.headers.has('content-encoding')
  try {
    const text = isKnown ? await response.text() : await readChunks(response, maxBytes)
    if (text.length > longTextLength) await yieldToEventLoop()
    return text
  } catch (error) {
    throw exchange.toError(error)
  }
}

/** Bodies of a known length up to this are read at once: the runtime decodes them far faster, in a few milliseconds. */
const maxTextBytes = 32 * 1024 * 1024

/** Completing a longer text takes a millisecond or more, as does parsing it: not in the same turn of the event loop. */
const longTextLength = 8 * 1024 * 1024

/** Decodes chunks as they arrive: the bytes are not held in addition to the text. */
async function readChunks(response: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder()
  const slicer = new TimeSlicer()
  const text = new StringBuilder()
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) throw tooLargeError()
    slicer.runCounted(() => text.add(decoder.decode(chunk, { stream: true })))
    if (slicer.pendingYield) await slicer.pendingYield
  }
  text.add(decoder.decode())
  if (size > longTextLength) await yieldToEventLoop()
  return text.take()
}

function tooLargeError(): UpstreamError {
  return unexpectedReplyError('The reply from the provider is too large.')
}
