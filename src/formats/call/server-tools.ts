import { asString } from '../../platform/json/json-values.ts'
import type { Message } from './call.ts'
import type { ServerToolPart, ToolResultPart } from './part.ts'

/** Whether a conversation has tools that the gateway ran in an earlier reply. */
export function hasServerTools(messages: readonly Message[]): boolean {
  return messages.some(({ parts }) => parts.some(({ kind }) => kind === 'server-tool'))
}

/**
 * Replaces the server tools of a conversation by the calls and results that the model saw. A result follows the message
 * with its call, together with those of the client's tools that were called with it.
 */
export function expandServerTools(messages: readonly Message[]): Message[] {
  const expanded: Message[] = []
  let results: ToolResultPart[] = []
  const flush = () => {
    if (results.length > 0) expanded.push({ role: 'user', parts: results })
    results = []
  }
  for (const message of messages) {
    if (message.role !== 'assistant') {
      const isAnswer = message.role === 'user' && message.parts.some(({ kind }) => kind === 'tool-result')
      if (!isAnswer) flush()
      expanded.push(isAnswer ? { ...message, parts: [...results, ...message.parts] } : message)
      results = []
      continue
    }
    let open: Message = { ...message, parts: [] }
    const add = (part: Message['parts'][number]) => {
      if (open.parts.length === 0) expanded.push(open)
      open.parts.push(part)
    }
    flush()
    for (const part of message.parts) {
      if (part.kind === 'server-tool') {
        const { id, arguments: args } = part
        add({ kind: 'tool-call', id, name: nameServerTool(part), arguments: args, isServerTool: true })
        results.push(toResult(part))
        continue
      }
      // What is not a call was written after the results.
      if (part.kind !== 'tool-call' && results.length > 0) {
        flush()
        open = { ...message, parts: [] }
      }
      add(part)
    }
  }
  flush()
  return expanded
}

/** The name of a tool, which distinguishes several tools of a kind. */
export function nameServerTool({ tool, item }: ServerToolPart): string {
  return asString(item.instance_name) ?? tool
}

function toResult(part: ServerToolPart): ToolResultPart {
  const { id, result = '', isError } = part
  return {
    kind: 'tool-result',
    id,
    name: nameServerTool(part),
    content: [{ kind: 'text', text: result }],
    ...(isError && { isError }),
  }
}
