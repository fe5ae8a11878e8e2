import type { Message } from '../../formats/call/call.ts'

/** Gives calls of earlier replies, and their results, the names that the model is offered now. */
export function renameEarlierCalls(
  messages: Message[],
  findOffered: (recorded: string) => string | undefined,
): Message[] {
  const names = new Map<string, string>()
  for (const part of messages.flatMap(({ parts }) => parts)) {
    if (part.kind !== 'tool-call' || !part.isServerTool) continue
    const name = findOffered(part.name)
    if (name !== undefined && name !== part.name) names.set(part.id, name)
  }
  if (names.size === 0) return messages
  const rename = (part: Message['parts'][number]) => {
    if (part.kind !== 'tool-call' && part.kind !== 'tool-result') return part
    const name = names.get(part.id)
    return name === undefined ? part : { ...part, name }
  }
  return messages.map((message) => ({ ...message, parts: message.parts.map(rename) }))
}
