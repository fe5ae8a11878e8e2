import type { Message, ModelCall, Tool } from '../../formats/call/call.ts'
import type { ToolCallPart } from '../../formats/call/part.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import { findBlock } from './block.ts'
import { inspectCall } from './inspect.ts'

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

/**
 * Does what `guardAddedMessages` does for calls that the gateway runs: their arguments leave it, for a search engine or
 * a server.
 */
export async function guardAddedCalls(
  gateway: Gateway,
  request: GuardedRequest,
  calls: ToolCallPart[],
): Promise<ToolCallPart[]> {
  const [message] = await guardAddedMessages(gateway, request, [{ role: 'assistant', parts: calls }])
  return calls.map((call, index) => {
    const guarded = message?.parts[index]
    return guarded?.kind === 'tool-call' ? { ...call, arguments: guarded.arguments } : call
  })
}

/** Does what `guardAddedMessages` does for tools: another server may have named and described them. */
export async function guardAddedTools<T extends Tool>(
  gateway: Gateway,
  request: GuardedRequest,
  tools: T[],
): Promise<T[]> {
  if (tools.length === 0) return tools
  const guarded = await guardAdded(gateway, request, { messages: [], tools })
  return (guarded.tools ?? tools) as T[]
}

type GuardedRequest = Pick<InferenceRequest, 'keyContext' | 'caller' | 'hits' | 'placeholders'>

async function guardAdded(
  gateway: Gateway,
  { keyContext, caller, hits, placeholders }: GuardedRequest,
  content: Pick<ModelCall, 'messages' | 'tools'>,
): Promise<Pick<ModelCall, 'messages' | 'tools'>> {
  const rules = keyContext.contentRules
  if (!rules || !hits) return content
  const added = { ...content, stream: false, unknown: [] }
  const inspected = await inspectCall(gateway, {
    call: added,
    owner: caller.organizationId,
    rules,
    placeholders,
  })
  hits.push(...inspected.hits)
  const error = findBlock(inspected.hits)
  if (error) throw error
  return inspected.call
}

/** Parts that were inspected already, so that they are not scanned twice. */
const guardedParts = new WeakSet<object>()

/** Inspects a request that a stage has changed: only the parts and tools that are not in `before`, its earlier call. */
export async function guardChanges(
  gateway: Gateway,
  request: InferenceRequest,
  before: ModelCall,
): Promise<void> {
  const { call } = request.content
  if (call === before || !request.keyContext.contentRules) return
  const ofBefore = new Set(before.messages.flatMap(({ parts }) => parts))
  const isKnown = (part: Message['parts'][number]) => ofBefore.has(part) || guardedParts.has(part)
  const added = call.messages
    .map(({ role, parts }) => ({ role, parts: parts.filter((part) => !isKnown(part)) }))
    .filter(({ parts }) => parts.length > 0)
  const guarded = await guardAddedMessages(gateway, request, added)
  const tools = await guardNewTools(gateway, request, before)
  if (guarded === added && tools === call.tools) return
  const guardedList = guarded.flatMap(({ parts }) => parts)
  const originals = added.flatMap(({ parts }) => parts)
  const redacted = new Map(originals.map((part, index) => [part, guardedList[index] ?? part]))
  const messages = call.messages.map((message) => ({
    ...message,
    parts: message.parts.map((part) => redacted.get(part) ?? part),
  }))
  const changed = { ...call, messages, ...(tools && { tools }) }
  request.content = request.content.rewrite(request.format, changed)
}

/** The same list if no tool is new. */
async function guardNewTools(
  gateway: Gateway,
  request: InferenceRequest,
  before: ModelCall,
): Promise<Tool[] | undefined> {
  const { tools } = request.content.call
  const known = new Set(before.tools)
  const added = tools?.filter((tool) => !known.has(tool)) ?? []
  if (added.length === 0) return tools
  const guarded = await guardAddedTools(gateway, request, added)
  const redacted = new Map(added.map((tool, index) => [tool, guarded[index] ?? tool]))
  return tools?.map((tool) => redacted.get(tool) ?? tool)
}
