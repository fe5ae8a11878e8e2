import { z } from 'zod'
import { ownerOf } from '../../access/caller.ts'
import { chatRequest } from '../../formats/chat/schema.ts'
import { completionsRequest } from '../../formats/completions/schema.ts'
import { geminiBody } from '../../formats/gemini/schema.ts'
import { messagesRequest } from '../../formats/messages/schema.ts'
import { responsesRequest } from '../../formats/responses/schema.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { validateInput } from '../../platform/validation/validate-input.ts'
import { inspectRequest } from '../guard/inspect.ts'
import { dryRun, estimatePluginFees, preparePlugins } from '../plugins/apply.ts'
import { resolveConversation } from '../request/conversation.ts'
import { formats } from '../request/formats.ts'
import type { IncomingRequest } from '../request/inference-request.ts'
import { parseRequest } from '../request/parse.ts'
import { prepareTools } from '../tool-loop/prepare.ts'
import { encodeFor } from '../upstream/translate.ts'
import { mediaFormats } from './media.ts'
import type { AnyRequest, ResolvedRequest } from './resolved-request.ts'

const formatSchemas = {
  chat: chatRequest,
  completions: completionsRequest,
  messages: messagesRequest,
  responses: responsesRequest,
  gemini: geminiBody,
} satisfies Record<string, z.ZodType>

type FormatName = keyof typeof formatSchemas

type MediaFormatName = keyof typeof mediaFormats

export const formatName = z.enum([
  'chat',
  'completions',
  'messages',
  'responses',
  'gemini',
  'embeddings',
  'rerank',
  'images',
  'speech',
  'transcriptions',
] satisfies (FormatName | MediaFormatName)[])

/** Parses a body of any format as the operation of that format would. */
export async function resolveRequest(
  gateway: Gateway,
  input: AnyRequest,
  requestedFormat: FormatName | MediaFormatName | undefined,
): Promise<ResolvedRequest> {
  const name = requestedFormat ?? detectFormat(input.body, input.httpRequest.headers)
  if (isMediaFormat(name)) return mediaFormats[name](gateway, input)
  const { keyContext, ...incoming } = input
  const parsed = await parseRequest(gateway, await resolveText(gateway, incoming, name))
  if (keyContext) parsed.keyContext = keyContext
  const original = parsed.content.call
  const request = await inspectRequest(gateway, parsed)
  await preparePlugins(gateway, request, dryRun)
  await prepareTools(gateway, request)
  return {
    request,
    original,
    excludeUnfit: (plan) => plan,
    translate: ({ model, endpoint }) => encodeFor(request, model, endpoint),
    encodeError: request.format.replyCodec.encodeError,
    fees: await estimatePluginFees(gateway, request),
  }
}

function isMediaFormat(name: FormatName | MediaFormatName): name is MediaFormatName {
  return Object.hasOwn(mediaFormats, name)
}

async function resolveText(
  gateway: Gateway,
  input: Omit<IncomingRequest, 'format'>,
  name: FormatName,
): Promise<IncomingRequest> {
  const body = validateInput(formatSchemas[name] as z.ZodType<JsonObject>, input.body, 'body')
  const incoming = { ...input, body, source: { ...input.source, body }, format: formats[name] }
  if (name === 'gemini') return { ...incoming, body: { ...body, stream: false } }
  if (name !== 'responses') return incoming
  const opened = await resolveConversation(gateway, ownerOf(input.caller), body)
  return { ...incoming, body: opened.body }
}

/** Detects the format by fields only it has; Messages bodies differ from chat only in their client's header. */
function detectFormat(body: JsonObject, headers: Headers): FormatName | MediaFormatName {
  if (body.documents !== undefined && body.query !== undefined) return 'rerank'
  if (body.input_audio !== undefined) return 'transcriptions'
  if (body.input !== undefined) return body.voice === undefined ? 'responses' : 'speech'
  if (body.contents !== undefined) return 'gemini'
  if (body.messages === undefined && body.prompt !== undefined) return 'completions'
  return headers.has('anthropic-version') ? 'messages' : 'chat'
}
