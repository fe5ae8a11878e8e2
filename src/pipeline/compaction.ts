import type { Owner, Shelf } from '../account/stored-responses.ts'
import { badField } from '../errors.ts'
import { newId } from '../lib/ids.ts'
import { type JsonObject, objectsOf, textOf } from '../lib/loose.ts'

/**
 * A compacted conversation is its user messages and a summary by the model, which comes back as the input of
 * later requests. The summary is sealed for its workspace and opened here, so any provider can go on from it.
 */
const mark = 'headgate:'

const longestSummary = 8192

const wanted = `Summarise the conversation above so that it can be continued from your summary alone. \
Keep the user's goals and constraints, decisions and their reasons, facts, names, numbers, file paths and code \
that matter later, results of tools, and what remains to be done. Write the summary only.`

const preface = 'Summary of the conversation so far:\n\n'

type Sealing = Pick<Shelf, 'vault'>

/** The request that has a model summarise what `body`, a Responses request with all it refers to, says. */
export function summaryRequest(body: JsonObject): JsonObject {
  const { model, models, provider, instructions, service_tier, user, session_id } = body
  const input = [...itemsOf(body.input).flatMap(asText), message('user', wanted)]
  return {
    ...{ model, models, provider, instructions, service_tier, user, session_id, input },
    max_output_tokens: longestSummary,
    store: false,
    stream: false,
  }
}

/** What the client sends in the place of the conversation from now on. */
export function compactedItems(
  { vault }: Sealing,
  owner: Owner,
  body: JsonObject,
  summary: string,
): JsonObject[] {
  const said = itemsOf(body.input).filter((item) => item.role === 'user' && !isSummary(item))
  const sealed = mark + vault.seal(summary, contextOf(owner))
  return [
    ...said.map((item) => ({ id: newId('msg'), type: 'message', status: 'completed', ...item })),
    { id: newId('cmp'), type: 'compaction', encrypted_content: sealed },
  ]
}

/** Summaries of ours as messages; those of a vendor stay as they are. */
export function openSummaries({ vault }: Sealing, owner: Owner, items: JsonObject[]): JsonObject[] {
  return items.map((item) => {
    const sealed = item.type === 'compaction' ? textOf(item.encrypted_content) : undefined
    if (!sealed?.startsWith(mark)) return item
    try {
      const summary = vault.open(sealed.slice(mark.length), contextOf(owner))
      return message('user', preface + summary)
    } catch {
      throw badField('input', 'has a compaction that was not made by this gateway for this workspace')
    }
  })
}

function isSummary({ content }: JsonObject): boolean {
  return textOf(objectsOf(content)[0]?.text)?.startsWith(preface) === true
}

function contextOf({ organizationId, workspaceId }: Owner): string {
  return `compaction ${organizationId} ${workspaceId}`
}

function itemsOf(input: unknown): JsonObject[] {
  return typeof input === 'string' ? [message('user', input)] : objectsOf(input)
}

/** Calls and their results in words: a request with calls but no tools is refused by some providers. */
function asText(item: JsonObject): JsonObject[] {
  if (textOf(item.role) !== undefined) return [item]
  if (item.type === 'reasoning') return []
  const { id: _id, type, status: _status, encrypted_content: _sealed, ...rest } = item
  const isResult = textOf(type)?.endsWith('_output') === true
  return [message(isResult ? 'user' : 'assistant', `[${textOf(type) ?? 'item'}] ${JSON.stringify(rest)}`)]
}

function message(role: 'user' | 'assistant', text: string): JsonObject {
  const type = role === 'user' ? 'input_text' : 'output_text'
  return { type: 'message', role, content: [{ type, text }] }
}
