import { type Call, type CustomTool, type FunctionTool, flatToolName } from '../../call/call.ts'
import type {
  AudioPart,
  ImagePart,
  OutputPart,
  ReasoningFormat,
  ReasoningPart,
  Source,
  TextPart,
  ToolCallPart,
} from '../../call/part.ts'
import { packReasoning } from '../../call/reasoning.ts'
import { defined, type JsonObject, objectOf, textOf } from '../../lib/loose.ts'
import { type FormatNames, formatName } from '../reasoning-format.ts'
import { encodeAnnotations, encodeLogprobs } from './annotations.ts'
import { declaredTool } from './tools.ts'

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

/** What the items of a reply need to know around them. */
export interface ItemFacts {
  /** The generation's id without its prefix: item ids are made from it. */
  base: string
  call: Call
  formatNames?: FormatNames
}

/** The output item for a part; null for parts this format cannot say. `index` is the part's number. */
export function outputItem(
  part: OutputPart,
  index: number,
  status: ItemStatus,
  facts: ItemFacts,
): JsonObject | null {
  switch (part.kind) {
    case 'text':
    case 'refusal':
    case 'audio':
      return messageItem(itemId('msg', index, facts), [contentOf(part)], status)
    case 'tool-call':
      return callItem(part, index, status, facts)
    case 'reasoning':
      return reasoningItem(part, index, status, facts)
    case 'image':
      return imageItem(part, index, status, facts)
    case 'opaque':
      return part.dialect === 'responses' ? withId(part.value, index, facts) : null
  }
}

function itemId(prefix: string, index: number, { base }: ItemFacts): string {
  return `${prefix}_${base}_${index}`
}

function withId(value: JsonObject, index: number, facts: ItemFacts): JsonObject {
  return typeof value.id === 'string' ? value : { ...value, id: itemId('item', index, facts) }
}

function messageItem(id: string, content: JsonObject[], status: ItemStatus): JsonObject {
  return { id, type: 'message', role: 'assistant', status, content }
}

export function contentOf(part: TextPart | AudioPart | (OutputPart & { kind: 'refusal' })): JsonObject {
  if (part.kind === 'refusal') return { type: 'refusal', refusal: part.text }
  if (part.kind === 'audio') return audioContent(part)
  return {
    type: 'output_text',
    text: part.text,
    annotations: encodeAnnotations(part.citations),
    logprobs: encodeLogprobs(part.logprobs),
  }
}

/** The words where every client finds them, the sound beside them. */
function audioContent({ data, format, transcript, id, expiresAt }: AudioPart): JsonObject {
  return {
    type: 'output_text',
    text: transcript ?? '',
    annotations: [],
    logprobs: [],
    audio: defined({ id, data, format, expires_at: expiresAt }),
  }
}

/** Whether a call goes out as free text: the model was asked for that, or the client had declared it so. */
export function isCustom(part: ToolCallPart, { call }: ItemFacts): boolean {
  return part.custom === true || declaredTool(call.tools, part.name)?.kind === 'custom'
}

function callItem(part: ToolCallPart, index: number, status: ItemStatus, facts: ItemFacts): JsonObject {
  const tool = declaredTool(facts.call.tools, part.name)
  const custom = isCustom(part, facts)
  return defined({
    id: itemId(custom ? 'ctc' : 'fc', index, facts),
    type: custom ? 'custom_tool_call' : 'function_call',
    status,
    call_id: part.id,
    ...nameOf(part, tool),
    ...(custom ? { input: customInput(part) } : { arguments: part.arguments }),
  })
}

export function nameOf(part: ToolCallPart, tool: FunctionTool | CustomTool | undefined) {
  return tool?.namespace !== undefined && flatToolName(tool) === part.name
    ? { name: tool.name, namespace: tool.namespace }
    : { name: part.name }
}

/** The text of a call that an upstream without free-text tools made as `{"input": text}`. */
export function customInput(part: ToolCallPart): string {
  if (part.custom) return part.arguments
  try {
    return textOf(objectOf(JSON.parse(part.arguments))?.input) ?? part.arguments
  } catch {
    return part.arguments
  }
}

/** Whether the format carries this thinking as it is; that of others is packed whole into its sealed text. */
function isNative(part: ReasoningPart): boolean {
  return part.format === 'vendor_b-responses-v1'
}

/** Whether the vendor's own format has items of thinking with ids. */
export function isOfItem(format: ReasoningFormat): boolean {
  return format === 'vendor_b-responses-v1' || format === 'vendor_d-responses-v1'
}

/** Clients that ask for summaries show nothing else: the thinking of vendors that write none is told as one. */
export function isToldAsSummary(part: ReasoningPart, { call }: ItemFacts): boolean {
  return call.reasoning?.summary !== undefined && part.summary.length === 0 && !isOfItem(part.format)
}

export function shownThinking(part: ReasoningPart, facts: ItemFacts): ReasoningPart {
  if (part.text === '' || !isToldAsSummary(part, facts)) return part
  return { ...part, text: '', summary: [part.text] }
}

function reasoningItem(part: ReasoningPart, index: number, status: ItemStatus, facts: ItemFacts): JsonObject {
  const shown = shownThinking(part, facts)
  const hidden = facts.call.reasoning?.exclude === true
  const own = isNative(part)
  const open = status === 'in_progress'
  return defined({
    id: part.id !== undefined && isOfItem(part.format) ? part.id : itemId('rs', index, facts),
    type: 'reasoning',
    status,
    summary: hidden ? [] : shown.summary.map((text) => ({ type: 'summary_text', text })),
    content: hidden || shown.text === '' ? undefined : [{ type: 'reasoning_text', text: shown.text }],
    encrypted_content: open ? undefined : own ? part.encrypted : packReasoning(part),
    format: formatName(part.format, facts.formatNames),
    signature: own ? undefined : part.signature,
  })
}

/** Whether anything of thinking is left for a client that does not want to see it. */
export function isSealed(part: ReasoningPart): boolean {
  return part.signature !== undefined || part.encrypted !== undefined
}

function bytesOf(source: Source): string | null {
  if (source.kind === 'data') return source.data
  return source.kind === 'url' ? source.url : null
}

function imageItem({ source }: ImagePart, index: number, status: ItemStatus, facts: ItemFacts): JsonObject {
  return defined({
    id: itemId('ig', index, facts),
    type: 'image_generation_call',
    status,
    result: status === 'in_progress' ? null : bytesOf(source),
    output_format: source.kind === 'data' ? source.mediaType.replace(/^image\//, '') : undefined,
  })
}
