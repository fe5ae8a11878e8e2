import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { PartDelta } from '../call/event.ts'
import { findTool } from '../call/find-tool.ts'
import type { AudioPart, OpaquePart, OutputPart, ReasoningPart, ToolCallPart } from '../call/part.ts'
import { encodeAnnotation, encodeLogprobs } from './annotations.ts'
import {
  customInputOf,
  encodeContent,
  encodeToolName,
  type ItemContext,
  isCustomCall,
  isShownAsSummary,
  toShownReasoning,
} from './output-items-encode.ts'

export type Emit = (type: string, fields: JsonObject) => string

/** An item that is being written. */
export interface OpenItem {
  /** The position of the item in the output. */
  position: { item_id: string; output_index: number }
  annotationCount: number
  /** Summaries started, and how many of them are closed. */
  summaryCount: number
  closedSummaries: number
  isContentOpen: boolean
}

interface PartWriter<Part> {
  /** Called after `response.output_item.added`. */
  open(openItem: OpenItem, part: Part, emit: Emit): string
  delta(openItem: OpenItem, delta: PartDelta, part: Part, emit: Emit, context: ItemContext): string
  /** Called before `response.output_item.done`, with the complete part. */
  close(openItem: OpenItem, part: Part, emit: Emit, context: ItemContext): string
}

type PartKind = OutputPart['kind']

/** Writers of parts with events of their own; other parts are written as whole items. */
export const partWriters: { [K in PartKind]?: PartWriter<Extract<OutputPart, { kind: K }>> } = {
  text: {
    open: writeContentStart,
    delta(openItem, { text, logprobs, citation }, _part, emit) {
      const output =
        text || logprobs ? writeTextDelta(openItem, text ?? '', emit, encodeLogprobs(logprobs)) : ''
      const annotation = citation ? encodeAnnotation(citation) : null
      if (!annotation) return output
      const fields = {
        ...contentPositionOf(openItem),
        annotation_index: openItem.annotationCount++,
        annotation,
      }
      return output + emit('response.output_text.annotation.added', fields)
    },
    close(openItem, part, emit) {
      return (
        writeTextDone(openItem, part.text, emit, encodeLogprobs(part.logprobs)) +
        writeContentDone(openItem, encodeContent(part), emit)
      )
    },
  },
  refusal: {
    open: writeContentStart,
    delta: (openItem, { text }, _part, emit) =>
      text ? emit('response.refusal.delta', { ...contentPositionOf(openItem), delta: text }) : '',
    close: (openItem, part, emit) =>
      emit('response.refusal.done', { ...contentPositionOf(openItem), refusal: part.text }) +
      writeContentDone(openItem, encodeContent(part), emit),
  },
  audio: {
    open: writeContentStart,
    delta(openItem, { transcript, data }, _part, emit) {
      const output = transcript ? writeTextDelta(openItem, transcript, emit) : ''
      return data
        ? output + emit('response.audio.delta', { ...contentPositionOf(openItem), delta: data })
        : output
    },
    close: (openItem, part: AudioPart, emit) =>
      writeTextDone(openItem, part.transcript ?? '', emit) +
      writeContentDone(openItem, encodeContent(part), emit),
  },
  'tool-call': { open: () => '', delta: writeToolCallDelta, close: writeToolCallDone },
  reasoning: { open: () => '', delta: writeReasoningDelta, close: writeReasoningDone },
  'server-tool': {
    open: ({ position }, { progress }, emit) =>
      (progress?.start ?? []).map((name) => emit(`response.${name}`, position)).join(''),
    delta: ({ position }, { progress: { type, ...fields } = {} }, _part, emit, { hasOwnEvents }) =>
      typeof type === 'string' && hasOwnEvents ? emit(`response.${type}`, { ...position, ...fields }) : '',
    close({ position }, { progress, isError }, emit) {
      const name = isError ? progress?.failed : progress?.completed
      return name === undefined ? '' : emit(`response.${name}`, position)
    },
  },
  opaque: { open: () => '', delta: () => '', close: writePatchDiff },
  image: {
    open: ({ position }, _part, emit) => emit('response.image_generation_call.in_progress', position),
    delta: () => '',
    close: ({ position }, _part, emit) => emit('response.image_generation_call.completed', position),
  },
}

function contentPositionOf({ position }: OpenItem): JsonObject {
  return { ...position, content_index: 0 }
}

function writeContentStart(
  openItem: OpenItem,
  part: Parameters<typeof encodeContent>[0],
  emit: Emit,
): string {
  return emit('response.content_part.added', { ...contentPositionOf(openItem), part: encodeContent(part) })
}

function writeContentDone(openItem: OpenItem, part: JsonObject, emit: Emit): string {
  return emit('response.content_part.done', { ...contentPositionOf(openItem), part })
}

function writeTextDelta(openItem: OpenItem, delta: string, emit: Emit, logprobs: JsonObject[] = []): string {
  return emit('response.output_text.delta', { ...contentPositionOf(openItem), delta, logprobs })
}

function writeTextDone(openItem: OpenItem, text: string, emit: Emit, logprobs: JsonObject[] = []): string {
  return emit('response.output_text.done', { ...contentPositionOf(openItem), text, logprobs })
}

function writeToolCallDelta(
  { position }: OpenItem,
  { arguments: delta }: PartDelta,
  part: ToolCallPart,
  emit: Emit,
  context: ItemContext,
): string {
  if (!delta) return ''
  if (part.custom) return emit('response.custom_tool_call_input.delta', { ...position, delta })
  // A wrapped free-text call is unwrapped when its JSON is complete.
  if (isCustomCall(part, context)) return ''
  return emit('response.function_call_arguments.delta', { ...position, delta })
}

function writeToolCallDone(
  { position }: OpenItem,
  part: ToolCallPart,
  emit: Emit,
  context: ItemContext,
): string {
  if (!isCustomCall(part, context)) {
    const { arguments: args } = part
    const { name } = encodeToolName(part, findTool(context.call.tools, part.name))
    return emit('response.function_call_arguments.done', { ...position, name, arguments: args })
  }
  const input = customInputOf(part)
  const inputDelta =
    part.custom || input === ''
      ? ''
      : emit('response.custom_tool_call_input.delta', { ...position, delta: input })
  return inputDelta + emit('response.custom_tool_call_input.done', { ...position, input })
}

/** The diff of a patch, which is announced without it. */
function writePatchDiff(
  { position }: OpenItem,
  { value }: OpaquePart,
  emit: Emit,
  { hasOwnEvents }: ItemContext,
): string {
  const diff = value.type === 'apply_patch_call' ? asString(asObject(value.operation)?.diff) : undefined
  if (diff === undefined || !hasOwnEvents) return ''
  const name = 'response.apply_patch_call_operation_diff'
  return emit(`${name}.delta`, { ...position, delta: diff }) + emit(`${name}.done`, { ...position, diff })
}

function writeReasoningDelta(
  openItem: OpenItem,
  delta: PartDelta,
  part: ReasoningPart,
  emit: Emit,
  context: ItemContext,
): string {
  let text = ''
  if (delta.text && isShownAsSummary(part, context)) {
    text += writeSummaryDelta(openItem, delta.text, 0, emit)
  } else if (delta.text) {
    if (!openItem.isContentOpen) text += writeReasoningStart(openItem, emit)
    text += emit('response.reasoning_text.delta', { ...contentPositionOf(openItem), delta: delta.text })
  }
  if (delta.summary !== undefined) text += writeSummaryDelta(openItem, delta.summary, delta.section, emit)
  return text
}

function writeReasoningStart(openItem: OpenItem, emit: Emit): string {
  openItem.isContentOpen = true
  const part = { type: 'reasoning_text', text: '' }
  return emit('response.content_part.added', { ...contentPositionOf(openItem), part })
}

function writeSummaryDelta(
  openItem: OpenItem,
  delta: string,
  section: number | undefined,
  emit: Emit,
): string {
  const index = section ?? Math.max(0, openItem.summaryCount - 1)
  let text = ''
  while (openItem.summaryCount <= index) {
    const fields = { ...openItem.position, summary_index: openItem.summaryCount++ }
    text += emit('response.reasoning_summary_part.added', { ...fields, part: encodeSummaryPart('') })
  }
  if (delta === '') return text
  return (
    text +
    emit('response.reasoning_summary_text.delta', { ...openItem.position, summary_index: index, delta })
  )
}

function encodeSummaryPart(text: string): JsonObject {
  return { type: 'summary_text', text }
}

function writeReasoningDone(
  openItem: OpenItem,
  part: ReasoningPart,
  emit: Emit,
  context: ItemContext,
): string {
  let text = ''
  if (openItem.isContentOpen) {
    text += emit('response.reasoning_text.done', { ...contentPositionOf(openItem), text: part.text })
    text += writeContentDone(openItem, { type: 'reasoning_text', text: part.text }, emit)
  }
  return text + writeSummariesDone(openItem, toShownReasoning(part, context), emit, openItem.summaryCount)
}

/** Closes the summaries before `upTo` that are still open. */
export function writeSummariesDone(
  openItem: OpenItem,
  part: ReasoningPart,
  emit: Emit,
  upTo: number,
): string {
  let text = ''
  for (; openItem.closedSummaries < Math.min(upTo, openItem.summaryCount); openItem.closedSummaries++) {
    const summary = part.summary[openItem.closedSummaries] ?? ''
    const fields = { ...openItem.position, summary_index: openItem.closedSummaries }
    text += emit('response.reasoning_summary_text.done', { ...fields, text: summary })
    text += emit('response.reasoning_summary_part.done', { ...fields, part: encodeSummaryPart(summary) })
  }
  return text
}
