import type { ToolCallPart, ToolResultPart } from '../../formats/call/part.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { guardAddedMessages } from '../guard/added-content.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import type { ToolOutcome } from '../tools/tool.ts'

/** Characters of one result: about as much as a model can read. */
const maxResultLength = 400_000

/** The result of a call, as sent to the model. A filter may redact it, or block the request. */
export async function buildToolResult(
  gateway: Gateway,
  request: InferenceRequest,
  { id, name }: ToolCallPart,
  { content, isError }: Pick<ToolOutcome, 'content' | 'isError'>,
): Promise<ToolResultPart> {
  const result: ToolResultPart = {
    kind: 'tool-result',
    id,
    name,
    content: truncate(content),
    ...(isError && { isError }),
  }
  const [message] = await guardAddedMessages(gateway, request, [{ role: 'user', parts: [result] }])
  const [guarded] = message?.parts ?? []
  return guarded?.kind === 'tool-result' ? guarded : result
}

/** The result of a call that cannot be made. */
export function describeFailure(message: string): Pick<ToolOutcome, 'content' | 'isError'> {
  return { content: [{ kind: 'text', text: message }], isError: true }
}

/** The text of a result; other content is named. */
export function textOf({ content }: ToolResultPart): string {
  return content.map((part) => (part.kind === 'text' ? part.text : `[${part.kind}]`)).join('\n')
}

function truncate(content: ToolOutcome['content']): ToolOutcome['content'] {
  let remaining = maxResultLength
  return content.map((part) => {
    if (part.kind !== 'text') return part
    const { text } = part
    const taken = text.slice(0, Math.max(0, remaining))
    remaining -= text.length
    return taken.length === text.length ? part : { ...part, text: `${taken.toWellFormed()}\n[truncated]` }
  })
}
