import { newId } from '../../platform/crypto/ids.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { Owner, StoreContext } from '../../storage/stored-responses.ts'

/**
 * A compacted conversation is its user messages and a summary by the model, which the client sends as the input of
 * later requests. The summary is encrypted for its workspace and decrypted here, so any provider can continue from it.
 */
const summaryPrefix = 'headgate:'

const maxSummaryTokens = 8192

const summaryInstructions = `Summarize the conversation above so that it can be continued from your summary alone. \
Keep the user's goals and constraints, decisions and their reasons, facts, names, numbers, file paths and code \
that matter later, results of tools, and what remains to be done. Write the summary only.`

const preface = 'Summary of the conversation so far:\n\n'

type EncryptedSummary = Pick<StoreContext, 'vault'>

/** The request for a summary of `body`, a Responses request whose references are resolved. */
export function buildSummaryRequest(body: JsonObject): JsonObject {
  const { model, models, provider, instructions, service_tier, user, session_id } = body
  const input = [...parseItems(body.input).flatMap(toText), toMessage('user', summaryInstructions)]
  return {
    ...{ model, models, provider, instructions, service_tier, user, session_id, input },
    max_output_tokens: maxSummaryTokens,
    store: false,
    stream: false,
  }
}

/** The items a client sends instead of the conversation in later requests. */
export function compactItems(
  { vault }: EncryptedSummary,
  owner: Owner,
  body: JsonObject,
  summary: string,
): JsonObject[] {
  const userMessages = parseItems(body.input).filter((item) => item.role === 'user' && !isSummary(item))
  const encrypted = summaryPrefix + vault.encrypt(summary, buildEncryptionContext(owner))
  return [
    ...userMessages.map((item) => ({ id: newId('msg'), type: 'message', status: 'completed', ...item })),
    { id: newId('cmp'), type: 'compaction', encrypted_content: encrypted },
  ]
}

/** Turns summaries of this gateway into messages; a vendor's compactions are left unchanged. */
export function openSummaries({ vault }: EncryptedSummary, owner: Owner, items: JsonObject[]): JsonObject[] {
  return items.map((item) => {
    const encrypted = item.type === 'compaction' ? asString(item.encrypted_content) : undefined
    if (!encrypted?.startsWith(summaryPrefix)) return item
    try {
      const summary = vault.decrypt(encrypted.slice(summaryPrefix.length), buildEncryptionContext(owner))
      return toMessage('user', preface + summary)
    } catch {
      throw invalidFieldError(
        'input',
        'has a compaction that was not created by this gateway for this workspace',
      )
    }
  })
}

function isSummary({ content }: JsonObject): boolean {
  return asString(asObjects(content)[0]?.text)?.startsWith(preface) === true
}

function buildEncryptionContext({ organizationId, workspaceId }: Owner): string {
  return `compaction ${organizationId} ${workspaceId}`
}

function parseItems(input: unknown): JsonObject[] {
  return typeof input === 'string' ? [toMessage('user', input)] : asObjects(input)
}

/** Tool calls and results as text: some providers reject a request with calls but no tools. */
function toText(item: JsonObject): JsonObject[] {
  if (asString(item.role) !== undefined) return [item]
  if (item.type === 'reasoning') return []
  const { id: _id, type, status: _status, encrypted_content: _encrypted, ...rest } = item
  const isResult = asString(type)?.endsWith('_output') === true
  return [toMessage(isResult ? 'user' : 'assistant', `[${asString(type) ?? 'item'}] ${JSON.stringify(rest)}`)]
}

function toMessage(role: 'user' | 'assistant', text: string): JsonObject {
  const type = role === 'user' ? 'input_text' : 'output_text'
  return { type: 'message', role, content: [{ type, text }] }
}
