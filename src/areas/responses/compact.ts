import { fail } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { type JsonObject, objectOf, textOf } from '../../lib/loose.ts'
import { answer } from '../../pipeline/answer.ts'
import type { Question } from '../../pipeline/asked.ts'
import { ownerOf } from '../../pipeline/authenticate.ts'
import { compactedItems, summaryRequest } from '../../pipeline/compaction.ts'
import { openConversation } from '../../pipeline/conversation.ts'
import { formats } from '../../pipeline/formats.ts'

/** Has the model of the request summarise what it would be sent. */
export async function compact(gateway: Gateway, question: Omit<Question, 'format'>): Promise<Response> {
  const owner = ownerOf(question.caller)
  const opened = await openConversation(gateway, owner, { ...question.body, store: false })
  const body = summaryRequest(opened.body)
  const source = { ...question.source, text: JSON.stringify(body), body }
  const response = await answer(gateway, { ...question, body, source, format: formats.responses })
  const reply = objectOf(await response.json()) ?? {}
  const summary = textOf(reply.output_text)?.trim()
  if (!summary) throw fail('upstream_failed', 'The model answered without a summary.')
  return Response.json(compacted(reply, compactedItems(gateway, owner, opened.body, summary)), {
    headers: response.headers,
  })
}

function compacted({ id, created_at, usage, model, provider }: JsonObject, output: JsonObject[]): JsonObject {
  return { id, object: 'response.compaction', created_at, model, provider, output, usage: usage ?? null }
}
