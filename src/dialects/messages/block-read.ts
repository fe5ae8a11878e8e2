import type { PartDelta } from '../../call/event.ts'
import type { OutputPart, ReasoningPart, Source } from '../../call/part.ts'
import { type JsonObject, objectOf, textOf } from '../../lib/loose.ts'
import { readCitation, readCitations } from './citation.ts'
import { formatHint, nativeFormat, readRedacted, readThinking } from './thinking.ts'

/** Where the parts of a reply go. `start` gives the number of the part. */
interface Sink {
  start(content: OutputPart): number
  delta(part: number, delta: PartDelta): void
  end(part: number): void
}

/** A block between its start and its stop. */
export interface OpenBlock {
  add(delta: JsonObject): void
  close(): void
}

type Open = (block: JsonObject, sink: Sink) => OpenBlock

const openers: Record<string, Open> = {
  text: openText,
  thinking: openThinking,
  redacted_thinking: (block, sink) => finished(readRedacted(block), sink),
  tool_use: openToolUse,
  image: openImage,
}

export function openBlock(block: JsonObject, sink: Sink): OpenBlock {
  const type = textOf(block.type) ?? ''
  const open = Object.hasOwn(openers, type) ? openers[type] : undefined
  return (open ?? openOpaque)(block, sink)
}

function finished(content: OutputPart, sink: Sink): OpenBlock {
  const part = sink.start(content)
  return { add: () => undefined, close: () => sink.end(part) }
}

function openText(block: JsonObject, sink: Sink): OpenBlock {
  const citations = readCitations(block.citations)
  const text = textOf(block.text) ?? ''
  const part = sink.start({ kind: 'text', text, ...(citations.length > 0 && { citations }) })
  return {
    add: (delta) => {
      const citation = objectOf(delta.citation)
      if (delta.type === 'text_delta') sink.delta(part, { text: textOf(delta.text) ?? '' })
      else if (delta.type === 'citations_delta' && citation) {
        sink.delta(part, { citation: readCitation(citation) })
      }
    },
    close: () => sink.end(part),
  }
}

function openThinking(block: JsonObject, sink: Sink): OpenBlock {
  const format = formatHint(block)
  if (format !== undefined && format !== 'unknown') return openPacked(block, sink)
  const text = textOf(block.thinking) ?? ''
  const content: ReasoningPart = { kind: 'reasoning', text, summary: [], format: format ?? nativeFormat }
  const part = sink.start(content)
  // One signature a block: what comes later stands for all of it.
  let signature = textOf(block.signature) ?? ''
  return {
    add: (delta) => {
      if (delta.type === 'thinking_delta') sink.delta(part, { text: textOf(delta.thinking) ?? '' })
      else if (delta.type === 'signature_delta') signature = textOf(delta.signature) ?? signature
    },
    close: () => {
      if (signature !== '' && format !== 'unknown') sink.delta(part, { signature })
      sink.end(part)
    },
  }
}

/** Thinking of another vendor, by way of another gateway: what it is stands in its signature, which comes last. */
function openPacked(block: JsonObject, sink: Sink): OpenBlock {
  const whole: JsonObject = { ...block }
  return {
    add: (delta) => {
      if (delta.type === 'thinking_delta')
        whole.thinking = (textOf(whole.thinking) ?? '') + (textOf(delta.thinking) ?? '')
      else if (delta.type === 'signature_delta') whole.signature = delta.signature
    },
    close: () => finished(readThinking(whole), sink).close(),
  }
}

function openToolUse(block: JsonObject, sink: Sink): OpenBlock {
  const [id, name] = [textOf(block.id) ?? '', textOf(block.name) ?? '']
  const part = sink.start({ kind: 'tool-call', id, name, arguments: '' })
  let told = false
  return {
    add: (delta) => {
      const json = textOf(delta.partial_json) ?? ''
      if (delta.type !== 'input_json_delta' || json === '') return
      told = true
      sink.delta(part, { arguments: json })
    },
    close: () => {
      // The input is in the start when it does not come in pieces.
      if (!told) sink.delta(part, { arguments: JSON.stringify(block.input || {}) })
      sink.end(part)
    },
  }
}

/** Not the vendor's: this is how `blockOf` writes a picture of another model. */
function openImage(block: JsonObject, sink: Sink): OpenBlock {
  const source = imageSource(objectOf(block.source) ?? {})
  return source ? finished({ kind: 'image', source }, sink) : openOpaque(block, sink)
}

function imageSource(source: JsonObject): Source | undefined {
  const [data, url] = [textOf(source.data), textOf(source.url)]
  if (data !== undefined) return { kind: 'data', mediaType: textOf(source.media_type) ?? 'image/png', data }
  return url === undefined ? undefined : { kind: 'url', url }
}

/** A block that only this format has: complete when it stops. */
function openOpaque(block: JsonObject, sink: Sink): OpenBlock {
  const value: JsonObject = { ...block }
  let input = ''
  return {
    add: (delta) => {
      if (delta.type === 'input_json_delta') input += textOf(delta.partial_json) ?? ''
      else if (delta.type === 'compaction_delta') Object.assign(value, delta, { type: block.type })
    },
    close: () => {
      if (input !== '') value.input = parsed(input)
      finished({ kind: 'opaque', dialect: 'messages', value }, sink).close()
    },
  }
}

function parsed(input: string): unknown {
  try {
    return JSON.parse(input)
  } catch {
    return { _raw: input }
  }
}
