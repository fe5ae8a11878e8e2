import { z } from 'zod'
import type { Message, ModelCall, ReasoningOptions } from '../../formats/call/call.ts'
import type { InputPart, OutputPart, ToolResultPart } from '../../formats/call/part.ts'
import { efforts } from '../../formats/call/reasoning.ts'

/** Settings of a nested request; it does not inherit those of the outer request. */
export const nestedRequestFields = {
  model: z.string().min(1).max(256).optional(),
  instructions: z.string().max(100_000).optional(),
  max_completion_tokens: z.int().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  reasoning: z
    .strictObject({ effort: z.enum(efforts).optional(), max_tokens: z.int().min(1).optional() })
    .optional(),
}

export type NestedRequestSettings = Partial<z.output<z.ZodObject<typeof nestedRequestFields>>> & {
  cache_control?: { ttl?: '5m' | '1h' | undefined } | undefined
}

export function buildCall(messages: Message[], settings: NestedRequestSettings): ModelCall {
  const { instructions, max_completion_tokens, temperature, reasoning, cache_control } = settings
  return {
    messages: instructions === undefined ? messages : [textMessage('system', instructions), ...messages],
    stream: true,
    ...(max_completion_tokens !== undefined && { maxTokens: max_completion_tokens }),
    ...(temperature !== undefined && { temperature }),
    ...(reasoning && { reasoning: toReasoning(reasoning) }),
    ...(cache_control && { cache: cache_control.ttl ? { ttl: cache_control.ttl } : {} }),
    unknown: [],
  }
}

function toReasoning({
  effort,
  max_tokens,
}: NonNullable<NestedRequestSettings['reasoning']>): ReasoningOptions {
  return { ...(effort && { effort }), ...(max_tokens !== undefined && { maxTokens: max_tokens }) }
}

export function textMessage(role: Message['role'], text: string): Message {
  return { role, parts: [{ kind: 'text', text }] }
}

/** The text of a reply, without its reasoning. */
export function joinText(parts: readonly OutputPart[]): string {
  return parts.map((part) => (part.kind === 'text' || part.kind === 'refusal' ? part.text : '')).join('')
}

/**
 * A conversation for another model: without reasoning and vendor-specific parts, and with the calls of tools as text,
 * because the other model does not have these tools.
 */
export function flattenConversation(messages: readonly Message[]): Message[] {
  return messages.flatMap((message) => {
    const parts = message.parts.flatMap(flattenPart)
    return parts.length === 0 ? [] : [{ ...message, parts }]
  })
}

function flattenPart(part: InputPart | OutputPart): Message['parts'] {
  switch (part.kind) {
    case 'text':
      return part.text === '' ? [] : [{ kind: 'text', text: part.text }]
    case 'refusal':
      return [{ kind: 'text', text: part.text }]
    case 'tool-call':
      return [{ kind: 'text', text: `[Calls the tool ${part.name} with ${part.arguments}]` }]
    case 'tool-result':
      return flattenResult(part)
    case 'image':
    case 'file':
    case 'video':
      return [part]
    default:
      return []
  }
}

function flattenResult({ name, content }: ToolResultPart): Message['parts'] {
  const texts = content.flatMap((part) => (part.kind === 'text' ? part.text : []))
  const others = content.filter((part) => part.kind === 'image' || part.kind === 'file')
  return [{ kind: 'text', text: `[Result of the tool ${name ?? ''}: ${texts.join('\n')}]` }, ...others]
}
