import { type AwsEventMessage, AwsEventStreamReader } from '../../platform/http/aws-event-stream.ts'
import type { FrameReader, SseFrame } from '../../platform/http/sse.ts'
import { tryParseJson } from '../../platform/json/json.ts'
import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'

/** Reads the Messages events out of a stream of InvokeModelWithResponseStream. */
export function createBedrockFrameReader(): FrameReader {
  return createFrameReader(decodeChunk)
}

/** Reads the events of ConverseStream: each is an object with its name. */
export function createConverseFrameReader(): FrameReader {
  return createFrameReader(decodeEvent)
}

function createFrameReader(decode: (message: AwsEventMessage) => SseFrame[]): FrameReader {
  const messages = new AwsEventStreamReader()
  return {
    push: (bytes) => messages.push(bytes).flatMap(decode),
    // An incomplete message is dropped.
    end: () => [],
  }
}

function decodeEvent({ headers, body }: AwsEventMessage): SseFrame[] {
  const kind = headers[':message-type']
  const payload = parseJsonObject(new TextDecoder().decode(body)) ?? {}
  if (kind === 'error') {
    const code = headers[':error-code'] ?? ''
    const name = code.endsWith('Exception') ? code : 'internalServerException'
    return [toEventFrame(name, { message: headers[':error-message'] || code })]
  }
  const name = headers[kind === 'exception' ? ':exception-type' : ':event-type']
  return name ? [toEventFrame(name, payload)] : []
}

function toEventFrame(name: string, payload: JsonObject): SseFrame {
  return { event: name, data: JSON.stringify({ [name]: payload }) }
}

function decodeChunk({ headers, body }: AwsEventMessage): SseFrame[] {
  const payload = parseJsonObject(new TextDecoder().decode(body))
  if (headers[':message-type'] === 'exception') {
    return [toErrorFrame(headers[':exception-type'] ?? '', asString(payload?.message))]
  }
  if (headers[':message-type'] === 'error') {
    return [toErrorFrame(headers[':error-code'] ?? '', headers[':error-message'])]
  }
  const bytes = asString(payload?.bytes)
  if (headers[':event-type'] !== 'chunk' || bytes === undefined) return []
  const data = Buffer.from(bytes, 'base64').toString('utf8')
  return [{ event: asString(parseJsonObject(data)?.type) ?? '', data }]
}

/** The error type of the Messages format for each exception. */
const errorTypes = new Map([
  ['throttlingexception', 'rate_limit_error'],
  ['serviceunavailableexception', 'overloaded_error'],
  ['modelnotreadyexception', 'overloaded_error'],
  ['modeltimeoutexception', 'timeout_error'],
  ['validationexception', 'invalid_request_error'],
])

function toErrorFrame(exception: string, message = exception): SseFrame {
  const type = errorTypes.get(exception.toLowerCase()) ?? 'api_error'
  return { event: 'error', data: JSON.stringify({ type: 'error', error: { type, message } }) }
}

function parseJsonObject(text: string) {
  return asObject(tryParseJson(text))
}
