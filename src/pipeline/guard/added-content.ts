import type { Gateway } from '../../app/gateway.ts'
import type { FunctionTool, Message, ModelCall } from '../../call/call.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import { inspectCall } from './inspect.ts'
import { findBlock } from './refuse.ts'

/**
 * Applies the content filters to messages that the gateway adds to a guarded request: returns them redacted, or throws
 * if a filter blocks them. What was found is added to the hits of the request.
 */
export async function guardAddedMessages(
  gateway: Gateway,
  request: GuardedRequest,
  messages: Message[],
): Promise<Message[]> {
  if (messages.length === 0) return messages
  const guarded = await guardAdded(gateway, request, { messages })
  for (const { parts } of guarded.messages) for (const part of parts) guardedParts.add(part)
  return guarded.messages
}

/** As `guardAddedMessages`, for functions: another server may have described them. Their names stay. */
export async function guardAddedTools(
  gateway: Gateway,
  request: GuardedRequest,
  tools: FunctionTool[],
): Promise<FunctionTool[]> {
  if (tools.length === 0) return tools
  const guarded = await guardAdded(gateway, request, { messages: [], tools })
  return tools.map((tool, index) => ({ ...tool, ...guarded.tools?.[index], name: tool.name }) as FunctionTool)
}

type GuardedRequest = Pick<InferenceRequest, 'keyContext' | 'caller' | 'hits'>

async function guardAdded(
  gateway: Gateway,
  { keyContext, caller, hits }: GuardedRequest,
  content: Pick<ModelCall, 'messages' | 'tools'>,
): Promise<Pick<ModelCall, 'messages' | 'tools'>> {
  const rules = keyContext.contentRules
  if (!rules || !hits) return content
  const added = { ...content, stream: false, unknown: [] }
  const inspected = await inspectCall(gateway, added, caller.organizationId, rules)
  hits.push(...inspected.hits)
  const error = findBlock(inspected.hits)
  if (error) throw error
  return inspected.call
}

/** Not to be read twice. */
const guardedParts = new WeakSet<object>()

/** As `guardAddedMessages`, for a request that a stage has changed: only the parts that are new are read. */
export async function guardChangedRequest(
  gateway: Gateway,
  before: InferenceRequest,
  after: InferenceRequest,
): Promise<InferenceRequest> {
  const { call } = after.content
  if (call === before.content.call || !after.keyContext.contentRules) return after
  const ofBefore = new Set(before.content.call.messages.flatMap(({ parts }) => parts))
  const isKnown = (part: Message['parts'][number]) => ofBefore.has(part) || guardedParts.has(part)
  const added = call.messages
    .map(({ role, parts }) => ({ role, parts: parts.filter((part) => !isKnown(part)) }))
    .filter(({ parts }) => parts.length > 0)
  const guarded = await guardAddedMessages(gateway, after, added)
  if (guarded === added) return after
  const guardedList = guarded.flatMap(({ parts }) => parts)
  const originals = added.flatMap(({ parts }) => parts)
  const redacted = new Map(originals.map((part, index) => [part, guardedList[index] ?? part]))
  const messages = call.messages.map((message) => ({
    ...message,
    parts: message.parts.map((part) => redacted.get(part) ?? part),
  }))
  return { ...after, content: after.content.rewrite(after.format, { ...call, messages }) }
}
