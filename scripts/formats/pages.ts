import type { GenerateWireFormat } from '../../src/formats/vocabulary.ts'
import type { JsonObject } from '../../src/platform/json/json-values.ts'

/** A request that runs unchanged against the sandbox. */
export interface Example {
  path: string
  /** The headers in which clients of the format send their key. */
  auth: (key: string) => Record<string, string>
  body: JsonObject
}

export interface FormatPage {
  title: string
  /** Column header in tables. */
  label: string
  intro: string
  whole: Example
  stream: Example
  streams: string
  errors: string
  details: string[]
}

export const bearer = (key: string) => ({ Authorization: `Bearer ${key}` })
const apiKey = (key: string) => ({ 'x-api-key': key })
const googleKey = (key: string) => ({ 'x-goog-api-key': key })
const hello = [{ role: 'user', content: 'Hello' }]
const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }]

export const pages: Record<GenerateWireFormat, FormatPage> = {
  chat: {
    title: 'Chat Completions',
    label: 'Chat',
    intro:
      'OpenAI’s `POST /chat/completions`, the format of most clients and providers. Set the base URL of the client to `/api/v1` (or `/v1`) on your server and the API key to a Headgate key.',
    whole: {
      path: '/api/v1/chat/completions',
      auth: bearer,
      body: { model: 'sandbox/echo', messages: hello },
    },
    stream: {
      path: '/api/v1/chat/completions',
      auth: bearer,
      body: { model: 'sandbox/echo', stream: true, messages: hello },
    },
    streams:
      'Each event is a `chat.completion.chunk`. The last chunk of the reply has the usage and the cost. With `stream_options.include_usage` or `usage: {include: true}`, they are in a separate chunk before `[DONE]` whose `choices` are empty.',
    errors:
      'Before the first byte, an error is an HTTP status with the body below. In a stream, it is a last chunk with an `error` field and the finish reason `error`; no `[DONE]` follows.',
    details: [
      'Replies have reasoning as text in `reasoning`, and with signatures in `reasoning_details`. Send the assistant message back unchanged, including `reasoning_details`, so that signatures reach the vendor that issued them.',
      'The `format` of an entry in `reasoning_details` is the name used by published SDKs (`anthropic-claude-v1`, `openai-responses-v1`, `google-gemini-v1`, `xai-responses-v1`, `unknown`), because some SDKs discard entries with other names. Send the header `x-headgate-reasoning-formats: neutral` to receive vendor-neutral names (`vendor_a-v1`, `vendor_b-responses-v1`, `vendor_c-v1`, `vendor_d-responses-v1`). Requests may use either.',
      'With `reasoning: {"exclude": true}` the reply contains no reasoning and no signatures.',
      'Free-text tools (`type: "custom"`) work with every provider. In formats with JSON arguments only, the tool becomes a function with a string parameter; the reply contains the free text again.',
      'Fields that Headgate does not know are passed unchanged to providers of this format. For other providers they are dropped and listed in `x-headgate-dropped`.',
    ],
  },
  messages: {
    title: 'Messages',
    label: 'Messages',
    intro:
      'Anthropic’s `POST /messages`. Anthropic’s SDKs and coding agents work with every model in the catalog: set the base URL to your server and the API key to a Headgate key.',
    whole: {
      path: '/api/v1/messages',
      auth: apiKey,
      body: { model: 'sandbox/echo', max_tokens: 100, messages: hello },
    },
    stream: {
      path: '/api/v1/messages',
      auth: apiKey,
      body: { model: 'sandbox/echo', max_tokens: 100, stream: true, messages: hello },
    },
    streams:
      'One content block is open at a time, as the format requires. If a provider streams several tool calls in parallel, one is streamed and the others follow when it ends.',
    errors:
      'Before the first byte, an error is an HTTP status with the body below. In a stream, it is an `error` event, the last one; no `message_stop` follows.',
    details: [
      'Reasoning of other vendors’ models is a `thinking` block whose `signature` contains the vendor’s signature in packed form. Send the block back unchanged: Headgate unpacks it for that vendor. For others it is dropped and listed in `x-headgate-dropped`.',
      'Cache breakpoints (`cache_control`) are sent to providers of this format. At most four are sent, the vendor’s limit.',
      'Fields and blocks that Headgate does not know are passed unchanged to providers of this format. For other providers they are dropped and listed in `x-headgate-dropped`.',
    ],
  },
  responses: {
    title: 'Responses',
    label: 'Responses',
    intro: 'OpenAI’s `POST /responses`, used by agents such as Codex.',
    whole: { path: '/api/v1/responses', auth: bearer, body: { model: 'sandbox/echo', input: 'Hello' } },
    stream: {
      path: '/api/v1/responses',
      auth: bearer,
      body: { model: 'sandbox/echo', stream: true, input: 'Hello' },
    },
    streams:
      'Events have consecutive sequence numbers from 0. Several items may be open at once. The last event contains the whole response with usage and cost.',
    errors:
      'Before the first byte, an error is an HTTP status with the body below. In a stream, it is a `response.failed` event, the last one, with the error in the response.',
    details: [
      'Reasoning of other vendors’ models is a `reasoning` item whose `encrypted_content` contains the vendor’s signature in packed form. Send the item back unchanged.',
      'Free-text tools (`custom`) and tools in a `namespace` work with every provider. Other formats receive a flat name and a string parameter; tool calls in the reply have the original names.',
      'With `background: true` the response is returned immediately with status `queued`, for every provider. `GET /responses/{id}` returns `in_progress` and then the result; with `?stream=true&starting_after=N` it streams the events. `POST /responses/{id}/cancel` cancels the response; what was generated until then is charged, or what the provider bills if it does not stop.',
      'Background responses are always stored. If a stream exceeds 16 Mi characters, its events cannot be replayed, and clients receive only the final event. Failed and canceled responses omit instructions and tools of more than 256 KiB. A response that is interrupted by a server stop ends as failed with an error. The number of concurrent background responses per workspace is set in headgate.yaml (`responses.background`).',
      'Items and fields that Headgate does not know are passed unchanged to providers of this format. For other providers they are dropped and listed in `x-headgate-dropped`.',
    ],
  },
  gemini: {
    title: 'Gemini',
    label: 'Gemini',
    intro:
      'Google’s `models/{model}:generateContent`, with the model in the path. Google’s SDKs work with your server as base URL and a Headgate key as API key.',
    whole: { path: '/v1beta/models/sandbox/echo:generateContent', auth: googleKey, body: { contents } },
    stream: {
      path: '/v1beta/models/sandbox/echo:streamGenerateContent?alt=sse',
      auth: googleKey,
      body: { contents },
    },
    streams:
      'Each event is a `GenerateContentResponse`. Text is streamed; a function call is sent when it is complete. The last event has the `finishReason`, the usage and the cost.',
    errors:
      'Before the first byte, an error is an HTTP status with the body below. In a stream, it is a last event with an `error` and no `finishReason`.',
    details: [
      'Reasoning of other vendors’ models is sent as parts with `thought: true`. The `thoughtSignature` at their end contains the vendor’s signature in packed form. Send the parts back unchanged.',
      'Arguments of function calls are objects. If a model generates arguments that are not a JSON object, the text is in `raw_arguments`.',
      'Fields and parts that Headgate does not know are passed unchanged to providers of this format. For other providers they are dropped and listed in `x-headgate-dropped`.',
    ],
  },
}
