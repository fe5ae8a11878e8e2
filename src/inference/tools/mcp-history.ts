import type { Message } from '../../formats/call/call.ts'
import type { OpaquePart, ToolCallPart, ToolResultPart } from '../../formats/call/part.ts'
import { asBoolean, asString, type JsonObject } from '../../platform/json/json-values.ts'

/** The name of the function for a tool of a server; undefined for a server that the request does not name. */
export type FunctionNameOf = (label: string, tool: string) => string | undefined

export interface RestoredHistory {
  messages: Message[]
  /** Calls that the client has approved. Their results are in the messages, still empty. */
  approved: ToolCallPart[]
}

type Part = Message['parts'][number]

/**
 * Earlier calls of MCP tools, as the Responses format keeps them, as calls of functions with their results. Lists of
 * tools are left out: the request names its servers again.
 */
export function restoreMcpCalls(
  messages: readonly Message[],
  functionNameOf: FunctionNameOf,
): RestoredHistory {
  if (!messages.some(({ parts }) => parts.some(isMcpItem))) return { messages: [...messages], approved: [] }
  const restorer = new HistoryRestorer(messages, functionNameOf)
  return { messages: messages.flatMap((message) => restorer.restore(message)), approved: restorer.approved }
}

function isMcpItem(part: Part): part is OpaquePart {
  return part.kind === 'opaque' && part.wireFormat === 'responses' && itemTypes.has(part.value.type)
}

const itemTypes: ReadonlySet<unknown> = new Set([
  'mcp_list_tools',
  'mcp_call',
  'mcp_approval_request',
  'mcp_approval_response',
])

class HistoryRestorer {
  readonly approved: ToolCallPart[] = []
  readonly #functionNameOf: FunctionNameOf
  /** Responses by the id of the request. */
  readonly #responses = new Map<string, JsonObject>()
  /** The requests whose call was made. */
  readonly #called = new Set<string>()

  constructor(messages: readonly Message[], functionNameOf: FunctionNameOf) {
    this.#functionNameOf = functionNameOf
    for (const { parts } of messages)
      for (const part of parts) if (part.kind === 'tool-call' && part.isServerTool) this.#called.add(part.id)
    for (const { value } of messages.flatMap(({ parts }) => parts.filter(isMcpItem))) {
      const requestId = asString(value.approval_request_id)
      if (requestId === undefined) continue
      if (value.type === 'mcp_call') this.#called.add(requestId)
      else this.#responses.set(requestId, value)
    }
  }

  restore(message: Message): Message[] {
    if (!message.parts.some(isMcpItem)) return [message]
    const restored: Message[] = []
    for (const part of message.parts) {
      if (isMcpItem(part)) restored.push(...this.#restoreItem(part.value))
      else if (restored.at(-1)?.role === message.role) restored.at(-1)?.parts.push(part)
      else restored.push({ ...message, parts: [part] })
    }
    return restored
  }

  #restoreItem(item: JsonObject): Message[] {
    const call = this.#readCall(item)
    if (!call) return []
    if (item.type === 'mcp_call') return toMessages(call, describeOutput(item))
    const response = this.#responses.get(call.id)
    if (!response || this.#called.has(call.id)) return []
    if (asBoolean(response.approve) !== true) return toMessages(call, describeRejection(response))
    this.approved.push(call)
    return toMessages(call, { content: [] })
  }

  #readCall({ type, id, server_label, name, arguments: args }: JsonObject): ToolCallPart | undefined {
    if (type !== 'mcp_call' && type !== 'mcp_approval_request') return undefined
    const [label, tool] = [asString(server_label), asString(name)]
    const functionName = label && tool ? this.#functionNameOf(label, tool) : undefined
    const callId = asString(id)
    if (functionName === undefined || callId === undefined) return undefined
    return { kind: 'tool-call', id: callId, name: functionName, arguments: asString(args) ?? '{}' }
  }
}

type Result = Pick<ToolResultPart, 'content' | 'isError'>

function toMessages(call: ToolCallPart, result: Result): Message[] {
  return [
    { role: 'assistant', parts: [call] },
    { role: 'user', parts: [{ kind: 'tool-result', id: call.id, ...result }] },
  ]
}

function describeOutput({ output, error }: JsonObject): Result {
  if (error === null || error === undefined) return { content: [toText(asString(output) ?? '')] }
  return { content: [toText(typeof error === 'string' ? error : JSON.stringify(error))], isError: true }
}

function describeRejection({ reason }: JsonObject): Result {
  const text = asString(reason)
  const message = text ? `The user did not approve this call: ${text}` : 'The user did not approve this call.'
  return { content: [toText(message)], isError: true }
}

function toText(text: string) {
  return { kind: 'text' as const, text }
}
