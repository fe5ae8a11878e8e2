import {
  asObject,
  asObjects,
  asString,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import type { Citation } from '../call/part.ts'
import { nativeFormat } from '../messages/thinking.ts'
import type { OpenBlock, PartSink } from '../part-sink.ts'

/** Opens the part that a start event, or the first delta of a block without one, is about. */
export function openBlock(first: JsonObject, sink: PartSink): OpenBlock {
  const toolUse = asObject(first.toolUse)
  if (toolUse) return openToolUse(toolUse, sink)
  if (first.reasoningContent !== undefined) return openReasoning(sink)
  if (first.image !== undefined) return openImage(asObject(first.image) ?? {}, sink)
  if (first.text !== undefined || first.citation !== undefined) return openText(sink)
  // Results of tools that the vendor ran, and blocks that did not exist yet.
  return { add: () => undefined, close: () => undefined }
}

function openText(sink: PartSink): OpenBlock {
  const part = sink.start({ kind: 'text', text: '' })
  return {
    add: (delta) => {
      const text = asString(delta.text)
      if (text) sink.delta(part, { text })
      const citation = asObject(delta.citation)
      if (citation) sink.delta(part, { citation: decodeCitation(citation) })
    },
    close: () => sink.end(part),
  }
}

function openToolUse(toolUse: JsonObject, sink: PartSink): OpenBlock {
  const [id, name] = [asString(toolUse.toolUseId) ?? '', asString(toolUse.name) ?? '']
  const part = sink.start({ kind: 'tool-call', id, name, arguments: '' })
  let hasInput = false
  return {
    add: (delta) => {
      const text = asString(asObject(delta.toolUse)?.input)
      if (!text) return
      hasInput = true
      sink.delta(part, { arguments: text })
    },
    close: () => {
      // A tool without arguments has no deltas.
      if (!hasInput) sink.delta(part, { arguments: '{}' })
      sink.end(part)
    },
  }
}

function openReasoning(sink: PartSink): OpenBlock {
  let part: number | null = null
  let signature = ''
  let redacted = ''
  const open = () => {
    part ??= sink.start({ kind: 'reasoning', text: '', summary: [], format: nativeFormat })
    return part
  }
  return {
    add: (delta) => {
      const content = asObject(delta.reasoningContent) ?? {}
      const text = asString(content.text)
      if (text) sink.delta(open(), { text })
      signature += asString(content.signature) ?? ''
      redacted += asString(content.redactedContent) ?? ''
    },
    close: () => {
      if (signature !== '') sink.delta(open(), { signature })
      if (part !== null) sink.end(part)
      if (redacted !== '') endRedacted(redacted, sink)
    },
  }
}

function endRedacted(encrypted: string, sink: PartSink): void {
  sink.end(sink.start({ kind: 'reasoning', text: '', summary: [], encrypted, format: nativeFormat }))
}

function openImage(start: JsonObject, sink: PartSink): OpenBlock {
  let data = asString(asObject(start.source)?.bytes) ?? ''
  return {
    add: (delta) => {
      data += asString(asObject(asObject(delta.image)?.source)?.bytes) ?? ''
    },
    close: () => {
      if (data === '') return
      const mediaType = `image/${asString(start.format) ?? 'png'}`
      sink.end(sink.start({ kind: 'image', source: { kind: 'data', mediaType, data } }))
    },
  }
}

/** Adds a block of a whole reply. */
export function addWholeBlock(block: JsonObject, sink: PartSink): void {
  const deltas = listDeltas(block)
  const isStart = block.toolUse !== undefined || block.image !== undefined
  const open = openBlock(isStart ? block : (deltas[0] ?? block), sink)
  for (const delta of deltas) open.add(delta)
  open.close()
}

/** The content of a block as deltas. */
function listDeltas(block: JsonObject): JsonObject[] {
  const toolUse = asObject(block.toolUse)
  if (toolUse) return [{ toolUse: { input: JSON.stringify(toolUse.input ?? {}) } }]
  const reasoning = asObject(block.reasoningContent)
  if (reasoning) {
    const { text, signature } = asObject(reasoning.reasoningText) ?? {}
    return [{ reasoningContent: { text, signature, redactedContent: reasoning.redactedContent } }]
  }
  const cited = asObject(block.citationsContent)
  if (cited) {
    const texts = asObjects(cited.content).map(({ text }) => ({ text }))
    return [...texts, ...asObjects(cited.citations).map((citation) => ({ citation }))]
  }
  return block.text === undefined ? [] : [{ text: block.text }]
}

function decodeCitation({ title, source, sourceContent, location }: JsonObject): Citation {
  const citedText = asObjects(sourceContent)
    .map(({ text }) => asString(text) ?? '')
    .join('')
  const web = asObject(asObject(location)?.web)
  return omitUndefined({
    url: asString(web?.url),
    title: asString(title) ?? asString(source),
    citedText: citedText || undefined,
  })
}
