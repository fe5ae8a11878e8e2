import type { GenerateDialect } from '../../src/catalogue/vocabulary.ts'
import type { JsonObject } from '../../src/lib/json-values.ts'

/** An example that runs against the sandbox as it stands. */
export interface Example {
  path: string
  /** How the format's own clients send their key. */
  auth: (key: string) => Record<string, string>
  body: JsonObject
}

export interface FormatPage {
  title: string
  /** As upstreams are called in tables. */
  label: string
  intro: string
  whole: Example
  stream: Example
  streams: string
  errors: string
  choices: string[]
}

const bearer = (key: string) => ({ Authorization: `Bearer ${key}` })
const apiKey = (key: string) => ({ 'x-api-key': key })
const googleKey = (key: string) => ({ 'x-goog-api-key': key })
const hello = [{ role: 'user', content: 'Hello' }]
const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }]

export const pages: Record<GenerateDialect, FormatPage> = {
  chat: {
    title: 'Chat Completions',
    label: 'Chat',
    intro:
      'The format of OpenAI’s `POST /chat/completions`, which most clients and most providers speak. Point a client at `/api/v1` (or `/v1`) and give it a key of Headgate.',
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
      'Each event is a `chat.completion.chunk`. The chunk that ends the reply carries the usage with its cost. With `stream_options.include_usage`, or with `usage: {include: true}`, the usage is in a chunk of its own before `[DONE]`, whose `choices` are empty.',
    errors:
      'Before the first byte an error has its status and the body below. Inside a stream it is a last chunk with an `error` beside its choices and the finish reason `error`; no `[DONE]` follows.',
    choices: [
      'Reasoning comes as `reasoning` (text) and as `reasoning_details`, which also hold signatures. Send the assistant message back as you got it, with `reasoning_details`: the signatures then reach the vendor that made them, unmodified.',
      'The `format` of an entry of `reasoning_details` has the name that the published SDKs know (`anthropic-claude-v1`, `openai-responses-v1`, `google-gemini-v1`, `xai-responses-v1`, `unknown`): some of them discard entries with any other. Send the header `x-headgate-reasoning-formats: neutral` to get names without vendors (`vendor_a-v1`, `vendor_b-responses-v1`, `vendor_c-v1`, `vendor_d-responses-v1`). Requests may use either.',
      'With `reasoning: {"exclude": true}` nothing of the thinking is in the reply, signatures included.',
      'Tools that take free text (`type: "custom"`) work with every upstream. Where a format has only JSON arguments, the tool becomes a function with one string, and the text is taken out again.',
      'A field that Headgate does not know goes on, untouched, to an upstream that speaks this format. Elsewhere it is left out and named.',
    ],
  },
  messages: {
    title: 'Messages',
    label: 'Messages',
    intro:
      'The format of Anthropic’s `POST /messages`. Anthropic’s SDKs and coding agents work with every model of the catalogue through it: set the base URL to the server’s and the API key to a key of Headgate.',
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
      'Blocks are open one at a time, as the format wants. Where an upstream writes several tool calls at once, one is written out as it comes and the others follow whole.',
    errors:
      'Before the first byte an error has its status and the body below. Inside a stream it is an `error` event, the last one; no `message_stop` follows.',
    choices: [
      'Thinking of another vendor is shown as a `thinking` block. Its `signature` holds the other vendor’s signature, packed. Send the block back as it is: Headgate unpacks it for that vendor and leaves it out, and names it, for every other.',
      'Cache marks (`cache_control`) reach upstreams of this format, at most four of them, as the vendor takes no more.',
      'A field or block that Headgate does not know goes on, untouched, to an upstream that speaks this format. Elsewhere it is left out and named.',
    ],
  },
  responses: {
    title: 'Responses',
    label: 'Responses',
    intro: 'The format of OpenAI’s `POST /responses`, for agents that keep whole items, such as Codex.',
    whole: { path: '/api/v1/responses', auth: bearer, body: { model: 'sandbox/echo', input: 'Hello' } },
    stream: {
      path: '/api/v1/responses',
      auth: bearer,
      body: { model: 'sandbox/echo', stream: true, input: 'Hello' },
    },
    streams:
      'Events are numbered from 0 without gaps. Items are added, filled and done; several may be open at once. The last event holds the whole response with its usage and cost.',
    errors:
      'Before the first byte an error has its status and the body below. Inside a stream it is `response.failed`, the last event, with the error in the response.',
    choices: [
      'Reasoning of another vendor is a `reasoning` item whose `encrypted_content` holds what that vendor signed, packed. Send the item back as it is.',
      'Free-text tools (`custom`) and tools in a `namespace` work with every upstream: elsewhere they go by a flat name and one string, and the calls come back under the names you gave.',
      'With `background: true` the answer comes at once, with status `queued`, whatever the provider is. `GET /responses/{id}` shows `in_progress`, then how it ended; with `?stream=true&starting_after=N` its events are streamed while it is being made. `POST /responses/{id}/cancel` ends it at once, and charges what was produced until then, or what a provider that goes on bills. A stream of more than 16 Mi characters cannot be followed event by event: whoever follows it then gets the event that ends it. Such a response must be stored, and is, however long; of one that failed or was cancelled, instructions and tools of more than 256 KiB are left out; one that a stop of the server interrupts has failed, with an error. How many a workspace may have at a time is set in headgate.yaml (`responses.background`).',
      'An item or field that Headgate does not know goes on, untouched, to an upstream that speaks this format. Elsewhere it is left out and named.',
    ],
  },
  gemini: {
    title: 'Gemini',
    label: 'Gemini',
    intro:
      'The format of Google’s `models/{model}:generateContent`. The model stands in the path; the rest of the path is the vendor’s, so Google’s SDKs work with the server’s address as base URL.',
    whole: { path: '/v1beta/models/sandbox/echo:generateContent', auth: googleKey, body: { contents } },
    stream: {
      path: '/v1beta/models/sandbox/echo:streamGenerateContent?alt=sse',
      auth: googleKey,
      body: { contents },
    },
    streams:
      'Each event is a `GenerateContentResponse`. Text comes in pieces; a function call comes whole, when it is complete. The last event has the `finishReason` and the usage with its cost.',
    errors:
      'Before the first byte an error has its status and the body below. Inside a stream it is a last event with an `error`; no `finishReason` comes.',
    choices: [
      'Thoughts of another vendor are parts with `thought: true`. A `thoughtSignature` at their end holds what the other vendor signed, packed. Send the parts back as you got them.',
      'Arguments of calls are objects in this format. What another model wrote that is not a JSON object stands whole under `raw_arguments`.',
      'A field or part that Headgate does not know goes on, untouched, to an upstream that speaks this format. Elsewhere it is left out and named.',
    ],
  },
}
