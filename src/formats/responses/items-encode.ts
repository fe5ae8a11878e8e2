import { asString, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import { type Message, type ModelCall, splitToolName } from '../call/call.ts'
import { findTool } from '../call/find-tool.ts'
import type { ReasoningPart, TextPart, ToolCallPart, ToolResultPart } from '../call/part.ts'
import { canReplayReasoning } from '../call/reasoning.ts'
import type { Losses } from '../fields.ts'
import type { Target } from '../wire-format.ts'
import { encodeAnnotations } from './annotations.ts'
import { encodeInputParts } from './parts-encode.ts'

type Part = Message['parts'][number]

/** Encodes messages as the items of `input`. */
export function encodeItems(
  { messages, tools }: { messages: Message[]; tools: ModelCall['tools'] },
  target: Target,
  losses: Losses,
): JsonObject[] {
  const items: JsonObject[] = []
  const customCalls = new Set<string>()
  for (const message of messages) {
    if (message.name !== undefined) losses.add('message_name')
    const role = encodeRole(message.role, target)
    for (const group of groupParts(message))
      items.push(...encodeGroup(role, group, target, losses, { tools, customCalls }))
  }
  return items
}

/** Upstreams without the `developer` role get `system`, which means the same. */
function encodeRole(role: Message['role'], { capabilities }: Target): Message['role'] {
  return role === 'developer' && !capabilities.has('developer_role') ? 'system' : role
}

/** Groups consecutive parts that form one `message` item; every other part is an item of its own. */
function groupParts(message: Message): Part[][] {
  const groups: Part[][] = []
  let run: Part[] | null = null
  for (const part of message.parts) {
    if (!isContent(part, message.role)) {
      groups.push([part])
      run = null
    } else if (run) run.push(part)
    else {
      run = [part]
      groups.push(run)
    }
  }
  return groups
}

function isContent(part: Part, role: Message['role']): boolean {
  if (part.kind === 'tool-call' || part.kind === 'tool-result' || part.kind === 'reasoning') return false
  if (part.kind === 'opaque') return contentTypePattern.test(asString(part.value.type) ?? '')
  return role !== 'assistant' || part.kind === 'text' || part.kind === 'refusal'
}

/** Types of content within messages; any other unknown type is an item. */
const contentTypePattern = /^(?:input_|output_|computer_screenshot$|encrypted_content$)/

function encodeGroup(
  role: Message['role'],
  group: Part[],
  target: Target,
  losses: Losses,
  { tools, customCalls }: { tools: ModelCall['tools']; customCalls: Set<string> },
): JsonObject[] {
  const [first] = group
  if (!first) return []
  if (first.kind === 'tool-call') {
    if (first.custom) customCalls.add(first.id)
    return [encodeToolCall(first, tools, losses)]
  }
  if (first.kind === 'tool-result') return [encodeToolResult(first, customCalls, losses)]
  if (first.kind === 'reasoning') return encodeReasoningItem(first, target, losses)
  if (isContent(first, role)) return encodeMessage(role, group, losses)
  if (first.kind === 'opaque') return encodeOpaque(first, losses)
  return encodeModelMedia(first, losses)
}

function encodeOpaque(part: Part & { kind: 'opaque' }, losses: Losses): JsonObject[] {
  if (part.wireFormat === 'responses') return [part.value]
  losses.add(`block:${asString(part.value.type) ?? part.wireFormat}`)
  return []
}

/** Generated images and audio cannot be sent back, except for the transcript of audio. */
function encodeModelMedia(part: Part, losses: Losses): JsonObject[] {
  losses.add(part.kind)
  if (part.kind !== 'audio' || !part.transcript) return []
  return encodeMessage('assistant', [{ kind: 'text', text: part.transcript }], losses)
}

function encodeMessage(role: Message['role'], parts: Part[], losses: Losses): JsonObject[] {
  const content =
    role === 'assistant'
      ? parts.map((part) => encodeAssistantPart(part, losses)).filter((part) => part !== undefined)
      : encodeInputParts(parts, losses)
  return content.length > 0 ? [{ type: 'message', role, content }] : []
}

function encodeAssistantPart(part: Part, losses: Losses): JsonObject | undefined {
  if (part.kind === 'text') return encodeText(part, losses)
  if (part.kind === 'refusal') return { type: 'refusal', refusal: part.text }
  return part.kind === 'opaque' && part.wireFormat === 'responses' ? part.value : undefined
}

function encodeText({ text, citations, cache }: TextPart, losses: Losses): JsonObject {
  if (cache) losses.add('cache_control')
  const annotations = encodeAnnotations(citations)
  if (annotations.length < (citations?.length ?? 0)) losses.add('citations')
  return { type: 'output_text', text, annotations }
}

/** Declared tools are sent under their flat names; others are the vendor's, in its namespaces. */
function encodeToolCall(part: ToolCallPart, tools: ModelCall['tools'], losses: Losses): JsonObject {
  if (part.cache) losses.add('cache_control')
  const name = findTool(tools, part.name) ? { name: part.name } : splitToolName(part)
  return part.custom
    ? { type: 'custom_tool_call', call_id: part.id, ...name, input: part.arguments }
    : { type: 'function_call', call_id: part.id, ...name, arguments: part.arguments }
}

function encodeToolResult(part: ToolResultPart, customCalls: Set<string>, losses: Losses): JsonObject {
  if (part.isError) losses.add('is_error')
  if (part.cache) losses.add('cache_control')
  const custom = part.custom ?? customCalls.has(part.id)
  return {
    type: custom ? 'custom_tool_call_output' : 'function_call_output',
    call_id: part.id,
    output: encodeResultContent(part.content, losses),
  }
}

function encodeResultContent(content: ToolResultPart['content'], losses: Losses): string | JsonObject[] {
  const [only] = content
  if (!only) return ''
  if (content.length === 1 && only.kind === 'text') {
    if (only.cache) losses.add('cache_control')
    return only.text
  }
  const parts = encodeInputParts(content, losses)
  return parts.length > 0 ? parts : ''
}

/** Only reasoning of the upstream's own format, with encrypted content or text. */
function encodeReasoningItem(part: ReasoningPart, target: Target, losses: Losses): JsonObject[] {
  const hasSignature = part.encrypted !== undefined || part.signature !== undefined
  if (!canReplayReasoning(part, target.signatureFormat) || (!hasSignature && part.text === '')) {
    losses.add(hasSignature ? 'reasoning_signature' : 'reasoning')
    return []
  }
  return [
    omitUndefined({
      type: 'reasoning',
      id: part.id,
      summary: part.summary.map((text) => ({ type: 'summary_text', text })),
      content: part.text === '' ? undefined : [{ type: 'reasoning_text', text: part.text }],
      encrypted_content: part.encrypted,
    }),
  ]
}
