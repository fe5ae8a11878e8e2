import type { PartDelta } from '../../call/event.ts'
import type { AudioPart, OutputPart, ReasoningPart, ToolCallPart } from '../../call/part.ts'
import type { JsonObject } from '../../lib/loose.ts'
import { encodeAnnotation, encodeLogprobs } from './annotations.ts'
import {
  contentOf,
  customInput,
  type ItemFacts,
  isCustom,
  isToldAsSummary,
  nameOf,
  shownThinking,
} from './output-items.ts'
import { declaredTool } from './tools.ts'

export type Emit = (type: string, fields: JsonObject) => string

/** A part while it is written. */
export interface Written {
  /** Where its item stands in the output. */
  place: { item_id: string; output_index: number }
  annotations: number
  /** Summaries begun, and how many of them are closed. */
  sections: number
  closed: number
  contentOpen: boolean
}

interface PartWriter<Part> {
  /** After the item was announced. */
  open(written: Written, part: Part, emit: Emit): string
  delta(written: Written, delta: PartDelta, part: Part, emit: Emit, facts: ItemFacts): string
  /** Before the item is done. `part` is complete. */
  close(written: Written, part: Part, emit: Emit, facts: ItemFacts): string
}

type Kind = OutputPart['kind']

/** Parts that are told piece by piece; the others are there at once. */
export const partWriters: { [K in Kind]?: PartWriter<Extract<OutputPart, { kind: K }>> } = {
  text: {
    open: openContent,
    delta(written, { text, logprobs, citation }, _part, emit) {
      const said = text || logprobs ? textDelta(written, text ?? '', emit, encodeLogprobs(logprobs)) : ''
      const annotation = citation ? encodeAnnotation(citation) : null
      if (!annotation) return said
      const fields = { ...inContent(written), annotation_index: written.annotations++, annotation }
      return said + emit('response.output_text.annotation.added', fields)
    },
    close(written, part, emit) {
      return (
        textDone(written, part.text, emit, encodeLogprobs(part.logprobs)) +
        contentDone(written, contentOf(part), emit)
      )
    },
  },
  refusal: {
    open: openContent,
    delta: (written, { text }, _part, emit) =>
      text ? emit('response.refusal.delta', { ...inContent(written), delta: text }) : '',
    close: (written, part, emit) =>
      emit('response.refusal.done', { ...inContent(written), refusal: part.text }) +
      contentDone(written, contentOf(part), emit),
  },
  audio: {
    open: openContent,
    delta(written, { transcript, data }, _part, emit) {
      const said = transcript ? textDelta(written, transcript, emit) : ''
      return data ? said + emit('response.audio.delta', { ...inContent(written), delta: data }) : said
    },
    close: (written, part: AudioPart, emit) =>
      textDone(written, part.transcript ?? '', emit) + contentDone(written, contentOf(part), emit),
  },
  'tool-call': { open: () => '', delta: callDelta, close: closeCall },
  reasoning: { open: () => '', delta: thoughtDelta, close: closeThought },
  image: {
    open: ({ place }, _part, emit) => emit('response.image_generation_call.in_progress', place),
    delta: () => '',
    close: ({ place }, _part, emit) => emit('response.image_generation_call.completed', place),
  },
}

function inContent({ place }: Written): JsonObject {
  return { ...place, content_index: 0 }
}

function openContent(written: Written, part: Parameters<typeof contentOf>[0], emit: Emit): string {
  return emit('response.content_part.added', { ...inContent(written), part: contentOf(part) })
}

function contentDone(written: Written, part: JsonObject, emit: Emit): string {
  return emit('response.content_part.done', { ...inContent(written), part })
}

function textDelta(written: Written, delta: string, emit: Emit, logprobs: JsonObject[] = []): string {
  return emit('response.output_text.delta', { ...inContent(written), delta, logprobs })
}

function textDone(written: Written, text: string, emit: Emit, logprobs: JsonObject[] = []): string {
  return emit('response.output_text.done', { ...inContent(written), text, logprobs })
}

function callDelta(
  { place }: Written,
  { arguments: delta }: PartDelta,
  part: ToolCallPart,
  emit: Emit,
  facts: ItemFacts,
): string {
  if (!delta) return ''
  if (part.custom) return emit('response.custom_tool_call_input.delta', { ...place, delta })
  // Free text inside JSON: it can be taken out when it is complete.
  if (isCustom(part, facts)) return ''
  return emit('response.function_call_arguments.delta', { ...place, delta })
}

function closeCall({ place }: Written, part: ToolCallPart, emit: Emit, facts: ItemFacts): string {
  if (!isCustom(part, facts)) {
    const { arguments: args } = part
    const { name } = nameOf(part, declaredTool(facts.call.tools, part.name))
    return emit('response.function_call_arguments.done', { ...place, name, arguments: args })
  }
  const input = customInput(part)
  const late =
    part.custom || input === ''
      ? ''
      : emit('response.custom_tool_call_input.delta', { ...place, delta: input })
  return late + emit('response.custom_tool_call_input.done', { ...place, input })
}

function thoughtDelta(
  written: Written,
  delta: PartDelta,
  part: ReasoningPart,
  emit: Emit,
  facts: ItemFacts,
): string {
  let text = ''
  if (delta.text && isToldAsSummary(part, facts)) {
    text += summaryDelta(written, delta.text, 0, emit)
  } else if (delta.text) {
    if (!written.contentOpen) text += openThought(written, emit)
    text += emit('response.reasoning_text.delta', { ...inContent(written), delta: delta.text })
  }
  if (delta.summary !== undefined) text += summaryDelta(written, delta.summary, delta.section, emit)
  return text
}

function openThought(written: Written, emit: Emit): string {
  written.contentOpen = true
  const part = { type: 'reasoning_text', text: '' }
  return emit('response.content_part.added', { ...inContent(written), part })
}

function summaryDelta(written: Written, delta: string, section: number | undefined, emit: Emit): string {
  const index = section ?? Math.max(0, written.sections - 1)
  let text = ''
  while (written.sections <= index) {
    const fields = { ...written.place, summary_index: written.sections++ }
    text += emit('response.reasoning_summary_part.added', { ...fields, part: summaryPart('') })
  }
  if (delta === '') return text
  return (
    text + emit('response.reasoning_summary_text.delta', { ...written.place, summary_index: index, delta })
  )
}

function summaryPart(text: string): JsonObject {
  return { type: 'summary_text', text }
}

function closeThought(written: Written, part: ReasoningPart, emit: Emit, facts: ItemFacts): string {
  let text = ''
  if (written.contentOpen) {
    text += emit('response.reasoning_text.done', { ...inContent(written), text: part.text })
    text += contentDone(written, { type: 'reasoning_text', text: part.text }, emit)
  }
  return text + closeSummaries(written, shownThinking(part, facts), emit, written.sections)
}

/** Closes the summaries before `upTo` that are still open. */
export function closeSummaries(written: Written, part: ReasoningPart, emit: Emit, upTo: number): string {
  let text = ''
  for (; written.closed < Math.min(upTo, written.sections); written.closed++) {
    const whole = part.summary[written.closed] ?? ''
    const fields = { ...written.place, summary_index: written.closed }
    text += emit('response.reasoning_summary_text.done', { ...fields, text: whole })
    text += emit('response.reasoning_summary_part.done', { ...fields, part: summaryPart(whole) })
  }
  return text
}
