import { type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import {
  type CustomTool,
  type FunctionTool,
  flattenToolName,
  type ModelCall,
  splitToolName,
} from '../call/call.ts'
import { findTool } from '../call/find-tool.ts'
import type {
  AudioPart,
  ImagePart,
  MediaSource,
  OutputPart,
  ReasoningFormat,
  ReasoningPart,
  TextPart,
  ToolCallPart,
} from '../call/part.ts'
import { packReasoning } from '../call/reasoning.ts'
import { unwrapCustomInput } from '../custom-tools.ts'
import { encodeReasoningFormat, type FormatNames } from '../reasoning-format.ts'
import { encodeAnnotations, encodeLogprobs } from './annotations.ts'
import { encodeServerToolItem } from './server-tool.ts'

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

/** Facts that the encoding of items depends on. */
export interface ItemContext {
  /** The generation id without its prefix, the base of item ids. */
  idBase: string
  call: ModelCall
  formatNames?: FormatNames
  /** Whether the client reads events that the vendor's API does not have. */
  hasOwnEvents: boolean
}

/** The output item of a part; null if this format cannot express it. `index` is the part number. */
export function encodeOutputItem(
  part: OutputPart,
  index: number,
  status: ItemStatus,
  context: ItemContext,
): JsonObject | null {
  switch (part.kind) {
    case 'text':
    case 'refusal':
    case 'audio':
      return encodeMessageItem(buildItemId('msg', index, context), [encodeContent(part)], status)
    case 'tool-call':
      return encodeToolCallItem(part, index, status, context)
    case 'reasoning':
      return encodeReasoningItem(part, index, status, context)
    case 'image':
      return encodeImageItem(part, index, status, context)
    case 'server-tool':
      return withId(encodeServerToolItem(part), index, context)
    case 'opaque':
      return part.wireFormat === 'responses' ? withId(part.value, index, context) : null
  }
}

function buildItemId(prefix: string, index: number, { idBase }: ItemContext): string {
  return `${prefix}_${idBase}_${index}`
}

function withId(value: JsonObject, index: number, context: ItemContext): JsonObject {
  return typeof value.id === 'string' ? value : { ...value, id: buildItemId('item', index, context) }
}

function encodeMessageItem(id: string, content: JsonObject[], status: ItemStatus): JsonObject {
  return { id, type: 'message', role: 'assistant', status, content }
}

export function encodeContent(part: TextPart | AudioPart | (OutputPart & { kind: 'refusal' })): JsonObject {
  if (part.kind === 'refusal') return { type: 'refusal', refusal: part.text }
  if (part.kind === 'audio') return encodeAudioContent(part)
  return {
    type: 'output_text',
    text: part.text,
    annotations: encodeAnnotations(part.citations),
    logprobs: encodeLogprobs(part.logprobs),
  }
}

/** The transcript as text, which every client reads, with the audio next to it. */
function encodeAudioContent({ data, format, transcript, id, expiresAt }: AudioPart): JsonObject {
  return {
    type: 'output_text',
    text: transcript ?? '',
    annotations: [],
    logprobs: [],
    audio: omitUndefined({ id, data, format, expires_at: expiresAt }),
  }
}

/** Whether a tool call is written as free text: the model called it that way, or the client declared the tool so. */
export function isCustomCall(part: ToolCallPart, { call }: ItemContext): boolean {
  return part.custom === true || findTool(call.tools, part.name)?.kind === 'custom'
}

function encodeToolCallItem(
  part: ToolCallPart,
  index: number,
  status: ItemStatus,
  context: ItemContext,
): JsonObject {
  const tool = findTool(context.call.tools, part.name)
  const custom = isCustomCall(part, context)
  return omitUndefined({
    id: buildItemId(custom ? 'ctc' : 'fc', index, context),
    type: custom ? 'custom_tool_call' : 'function_call',
    status,
    call_id: part.id,
    ...encodeToolName(part, tool),
    ...(custom ? { input: customInputOf(part) } : { arguments: part.arguments }),
  })
}

export function encodeToolName(part: ToolCallPart, tool: FunctionTool | CustomTool | undefined) {
  if (!tool) return splitToolName(part)
  return tool.namespace !== undefined && flattenToolName(tool) === part.name
    ? { name: tool.name, namespace: tool.namespace }
    : { name: part.name }
}

/** The input of a free-text call, which upstreams without free-text tools wrap as `{"input": text}`. */
export function customInputOf(part: ToolCallPart): string {
  return part.custom ? part.arguments : unwrapCustomInput(part.arguments)
}

/** Whether the format can carry this reasoning natively; other reasoning is packed into `encrypted_content`. */
function isNativeReasoning(part: ReasoningPart): boolean {
  return part.format === 'vendor_b-responses-v1'
}

/** Whether the vendor's reasoning items have ids. */
export function hasReasoningItemIds(format: ReasoningFormat): boolean {
  return format === 'vendor_b-responses-v1' || format === 'vendor_d-responses-v1'
}

/** Clients that request summaries show nothing else, so the text of vendors without summaries becomes one. */
export function isShownAsSummary(part: ReasoningPart, { call }: ItemContext): boolean {
  return (
    call.reasoning?.summary !== undefined && part.summary.length === 0 && !hasReasoningItemIds(part.format)
  )
}

export function toShownReasoning(part: ReasoningPart, context: ItemContext): ReasoningPart {
  if (part.text === '' || !isShownAsSummary(part, context)) return part
  return { ...part, text: '', summary: [part.text] }
}

function encodeReasoningItem(
  part: ReasoningPart,
  index: number,
  status: ItemStatus,
  context: ItemContext,
): JsonObject {
  const shown = toShownReasoning(part, context)
  const isHidden = context.call.reasoning?.exclude === true
  const isNative = isNativeReasoning(part)
  const isOpen = status === 'in_progress'
  return omitUndefined({
    id:
      part.id !== undefined && hasReasoningItemIds(part.format) ? part.id : buildItemId('rs', index, context),
    type: 'reasoning',
    status,
    summary: isHidden ? [] : shown.summary.map((text) => ({ type: 'summary_text', text })),
    content: isHidden || shown.text === '' ? undefined : [{ type: 'reasoning_text', text: shown.text }],
    encrypted_content: isOpen ? undefined : isNative ? part.encrypted : packReasoning(part),
    format: encodeReasoningFormat(part.format, context.formatNames),
    signature: isNative ? undefined : part.signature,
  })
}

/** Whether a part must be sent even if the client excludes reasoning text. */
export function hasSignature(part: ReasoningPart): boolean {
  return part.signature !== undefined || part.encrypted !== undefined
}

function imageResultOf(source: MediaSource): string | null {
  if (source.kind === 'data') return source.data
  return source.kind === 'url' ? source.url : null
}

function encodeImageItem(
  { source }: ImagePart,
  index: number,
  status: ItemStatus,
  context: ItemContext,
): JsonObject {
  return omitUndefined({
    id: buildItemId('ig', index, context),
    type: 'image_generation_call',
    status,
    result: status === 'in_progress' ? null : imageResultOf(source),
    output_format: source.kind === 'data' ? source.mediaType.replace(/^image\//, '') : undefined,
  })
}
