import { z } from 'zod'
import { chatRequest } from '../../dialects/chat/schema.ts'
import { completionsRequest } from '../../dialects/completions/schema.ts'
import { geminiBody } from '../../dialects/gemini/schema.ts'
import { messagesRequest } from '../../dialects/messages/schema.ts'
import { responsesCall } from '../../dialects/responses/schema.ts'
import type { Gateway } from '../../gateway.ts'
import { check } from '../../lib/check.ts'
import type { JsonObject } from '../../lib/loose.ts'
import type { Question } from '../../pipeline/asked.ts'
import { ownerOf } from '../../pipeline/authenticate.ts'
import { openConversation } from '../../pipeline/conversation.ts'
import { formats } from '../../pipeline/formats.ts'

const schemas = {
  chat: chatRequest,
  completions: completionsRequest,
  messages: messagesRequest,
  responses: responsesCall,
  gemini: geminiBody,
} satisfies Record<string, z.ZodType>

type FormatName = keyof typeof schemas

export const formatName = z.enum(['chat', 'completions', 'messages', 'responses', 'gemini'])

/** A body of whichever format, as the operation of that format would take it. */
export async function questionOf(
  gateway: Gateway,
  given: Omit<Question, 'format'>,
  wanted: FormatName | undefined,
): Promise<Question> {
  const name = wanted ?? formatOf(given.body, given.request.headers)
  const body = check(schemas[name] as z.ZodType<JsonObject>, given.body, 'body')
  const question = { ...given, body, source: { ...given.source, body }, format: formats[name] }
  if (name === 'gemini') return { ...question, body: { ...body, stream: false } }
  if (name !== 'responses') return question
  const opened = await openConversation(gateway, ownerOf(given.caller), body)
  return { ...question, body: opened.body }
}

/** By what only one format has; Messages bodies differ from chat in nothing but the header of their clients. */
function formatOf(body: JsonObject, headers: Headers): FormatName {
  if (body.input !== undefined) return 'responses'
  if (body.contents !== undefined) return 'gemini'
  if (body.messages === undefined && body.prompt !== undefined) return 'completions'
  return headers.has('anthropic-version') ? 'messages' : 'chat'
}
