import { type EventMessage, EventStreamReader } from '../lib/event-stream.ts'
import { objectOf, textOf } from '../lib/loose.ts'
import type { FrameReader, SseFrame } from '../lib/sse.ts'

/** The events of the Messages format that a stream of InvokeModelWithResponseStream holds. */
export function bedrockFrames(): FrameReader {
  const messages = new EventStreamReader()
  return {
    push: (bytes) => messages.push(bytes).flatMap(frameOf),
    // Half a message says nothing.
    end: () => [],
  }
}

function frameOf({ headers, body }: EventMessage): SseFrame[] {
  const given = parsed(new TextDecoder().decode(body))
  if (headers[':message-type'] === 'exception') {
    return [errorFrame(headers[':exception-type'] ?? '', textOf(given?.message))]
  }
  if (headers[':message-type'] === 'error') {
    return [errorFrame(headers[':error-code'] ?? '', headers[':error-message'])]
  }
  const bytes = textOf(given?.bytes)
  if (headers[':event-type'] !== 'chunk' || bytes === undefined) return []
  const data = Buffer.from(bytes, 'base64').toString('utf8')
  return [{ event: textOf(parsed(data)?.type) ?? '', data }]
}

/** What each exception is called in the format. */
const types = new Map([
  ['throttlingexception', 'rate_limit_error'],
  ['serviceunavailableexception', 'overloaded_error'],
  ['modelnotreadyexception', 'overloaded_error'],
  ['modeltimeoutexception', 'timeout_error'],
  ['validationexception', 'invalid_request_error'],
])

function errorFrame(exception: string, message = exception): SseFrame {
  const type = types.get(exception.toLowerCase()) ?? 'api_error'
  return { event: 'error', data: JSON.stringify({ type: 'error', error: { type, message } }) }
}

function parsed(text: string) {
  try {
    return objectOf(JSON.parse(text))
  } catch {
    return undefined
  }
}
