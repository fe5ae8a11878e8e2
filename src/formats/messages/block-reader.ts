import { tryParseJson } from '../../platform/json/json.ts'
import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { MediaSource, OutputPart, ReasoningPart } from '../call/part.ts'
import type { OpenBlock, PartSink } from '../part-sink.ts'
import { decodeCitation, decodeCitations } from './citation.ts'
import { decodeFormatHint, decodeRedactedThinking, decodeThinking, nativeFormat } from './thinking.ts'

type BlockOpener = (block: JsonObject, sink: PartSink) => OpenBlock

const openers: Record<string, BlockOpener> = {
  text: openText,
  thinking: openThinking,
  redacted_thinking: (block, sink) => openCompletePart(decodeRedactedThinking(block), sink),
  tool_use: openToolUse,
  image: openImage,
}

export function openBlock(block: JsonObject, sink: PartSink): OpenBlock {
  const type = asString(block.type) ?? ''
  const open = Object.hasOwn(openers, type) ? openers[type] : undefined
  return (open ?? openOpaque)(block, sink)
}

function openCompletePart(content: OutputPart, sink: PartSink): OpenBlock {
  const part = sink.start(content)
  return { add: () => undefined, close: () => sink.end(part) }
}

function openText(block: JsonObject, sink: PartSink): OpenBlock {
  const citations = decodeCitations(block.citations)
  const text = asString(block.text) ?? ''
  const part = sink.start({ kind: 'text', text, ...(citations.length > 0 && { citations }) })
  return {
    add: (delta) => {
      const citation = asObject(delta.citation)
      if (delta.type === 'text_delta') sink.delta(part, { text: asString(delta.text) ?? '' })
      else if (delta.type === 'citations_delta' && citation) {
        sink.delta(part, { citation: decodeCitation(citation) })
      }
    },
    close: () => sink.end(part),
  }
}

function openThinking(block: JsonObject, sink: PartSink): OpenBlock {
  const format = decodeFormatHint(block)
  if (format !== undefined && format !== 'unknown') return openPackedThinking(block, sink)
  const text = asString(block.thinking) ?? ''
  const content: ReasoningPart = { kind: 'reasoning', text, summary: [], format: format ?? nativeFormat }
  const part = sink.start(content)
  // A block has one signature: a later delta replaces an earlier one.
  let signature = asString(block.signature) ?? ''
  return {
    add: (delta) => {
      if (delta.type === 'thinking_delta') sink.delta(part, { text: asString(delta.thinking) ?? '' })
      else if (delta.type === 'signature_delta') signature = asString(delta.signature) ?? signature
    },
    close: () => {
      if (signature !== '' && format !== 'unknown') sink.delta(part, { signature })
      sink.end(part)
    },
  }
}

/** Another vendor's reasoning, packed by a gateway: its content is in the signature, which comes last. */
function openPackedThinking(block: JsonObject, sink: PartSink): OpenBlock {
  const packedBlock: JsonObject = { ...block }
  return {
    add: (delta) => {
      if (delta.type === 'thinking_delta')
        packedBlock.thinking = (asString(packedBlock.thinking) ?? '') + (asString(delta.thinking) ?? '')
      else if (delta.type === 'signature_delta') packedBlock.signature = delta.signature
    },
    close: () => openCompletePart(decodeThinking(packedBlock), sink).close(),
  }
}

function openToolUse(block: JsonObject, sink: PartSink): OpenBlock {
  const [id, name] = [asString(block.id) ?? '', asString(block.name) ?? '']
  const part = sink.start({ kind: 'tool-call', id, name, arguments: '' })
  let hasInput = false
  return {
    add: (delta) => {
      const json = asString(delta.partial_json) ?? ''
      if (delta.type !== 'input_json_delta' || json === '') return
      hasInput = true
      sink.delta(part, { arguments: json })
    },
    close: () => {
      // Input that is not streamed is in the start event.
      if (!hasInput) sink.delta(part, { arguments: JSON.stringify(block.input || {}) })
      sink.end(part)
    },
  }
}

/** The vendor sends no images; `encodeImageBlock` writes one for an image that another model generated. */
function openImage(block: JsonObject, sink: PartSink): OpenBlock {
  const source = decodeImageSource(asObject(block.source) ?? {})
  return source ? openCompletePart({ kind: 'image', source }, sink) : openOpaque(block, sink)
}

function decodeImageSource(source: JsonObject): MediaSource | undefined {
  const [data, url] = [asString(source.data), asString(source.url)]
  if (data !== undefined) return { kind: 'data', mediaType: asString(source.media_type) ?? 'image/png', data }
  return url === undefined ? undefined : { kind: 'url', url }
}

/** A block that only this format has; emitted when it stops. */
function openOpaque(block: JsonObject, sink: PartSink): OpenBlock {
  const value: JsonObject = { ...block }
  let input = ''
  return {
    add: (delta) => {
      if (delta.type === 'input_json_delta') input += asString(delta.partial_json) ?? ''
      else if (delta.type === 'compaction_delta') Object.assign(value, delta, { type: block.type })
    },
    close: () => {
      if (input !== '') value.input = parseToolInput(input)
      openCompletePart({ kind: 'opaque', wireFormat: 'messages', value }, sink).close()
    },
  }
}

function parseToolInput(input: string): unknown {
  return tryParseJson(input) ?? { _raw: input }
}
