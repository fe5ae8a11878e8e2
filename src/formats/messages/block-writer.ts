import type { JsonObject } from '../../platform/json/json-values.ts'
import type { PartDelta } from '../call/event.ts'
import type {
  AudioPart,
  ImagePart,
  OutputPart,
  ReasoningPart,
  ServerToolPart,
  TextPart,
  ToolCallPart,
} from '../call/part.ts'
import type { BlockFrames } from './block-frames.ts'
import { encodeCitation } from './citation.ts'
import { encodeServerToolResult, encodeServerToolUse } from './server-tool.ts'
import {
  encodeFormatHint,
  encodeHiddenThinking,
  encodeSignature,
  encodeThinking,
  isRedacted,
} from './thinking.ts'
import { parseToolArguments } from './tool-arguments.ts'

/** Writes one part of a reply. A block is opened only when it has content. */
export interface PartWriter {
  start(): string
  add(delta: PartDelta): string
  /** Closes the block so that another part can be written; null where the block cannot be split. */
  pause(): string | null
  close(): string
}

/** Null for a part that the format has no block for. */
export function createPartWriter(
  content: OutputPart,
  frames: BlockFrames,
  hidesReasoning: boolean,
): PartWriter | null {
  switch (content.kind) {
    case 'text':
    case 'refusal':
      return createTextWriter(
        content.kind === 'text' ? content : { kind: 'text', text: content.text },
        frames,
      )
    case 'audio':
      return createAudioWriter(content, frames)
    case 'reasoning':
      return hidesReasoning
        ? createHiddenReasoningWriter(content, frames)
        : createReasoningWriter(content, frames)
    case 'tool-call':
      return createToolCallWriter(content, frames)
    case 'server-tool':
      return createServerToolWriter(content, frames)
    case 'image':
    case 'opaque': {
      const [block] = encodeBlocks(content, hidesReasoning)
      return block
        ? { start: () => frames.writeBlock(block), add: () => '', pause: () => '', close: () => '' }
        : null
    }
  }
}

function createTextWriter(content: TextPart, frames: BlockFrames): PartWriter {
  const add = ({ text, citation }: PartDelta): string => {
    const encodedCitation = citation && encodeCitation(citation)
    if (!text && !encodedCitation) return ''
    const startFrame = frames.isOpen ? '' : frames.open({ type: 'text', text: '', citations: null })
    const deltaFrame = text ? frames.writeTextDelta('text_delta', 'text', text) : ''
    return (
      startFrame +
      deltaFrame +
      (encodedCitation ? frames.writeDelta({ type: 'citations_delta', citation: encodedCitation }) : '')
    )
  }
  return {
    start: () =>
      add({ text: content.text }) + (content.citations ?? []).map((citation) => add({ citation })).join(''),
    add,
    pause: () => frames.close(),
    close: () => frames.close(),
  }
}

/** The format has no audio: the transcript is sent as text. */
function createAudioWriter(content: AudioPart, frames: BlockFrames): PartWriter {
  const writer = createTextWriter({ kind: 'text', text: content.transcript ?? '' }, frames)
  return { ...writer, add: ({ transcript }) => writer.add({ text: transcript ?? '' }) }
}

function createToolCallWriter(content: ToolCallPart, frames: BlockFrames): PartWriter {
  const { id, name, custom } = content
  const writeJson = (text: string) =>
    text === '' ? '' : frames.writeTextDelta('input_json_delta', 'partial_json', text)
  // Free text becomes the only string of an object, escaped as it is streamed.
  const writeArguments = (text: string) => writeJson(custom ? JSON.stringify(text).slice(1, -1) : text)
  return {
    start: () =>
      frames.open({ type: 'tool_use', id, name, input: {}, caller: { type: 'direct' } }) +
      (custom ? writeJson('{"input":"') : '') +
      writeArguments(content.arguments),
    add: (delta) => writeArguments(delta.arguments ?? ''),
    pause: () => null,
    close: () => (custom ? writeJson('"}') : '') + frames.close(),
  }
}

function appendReasoningDelta(part: ReasoningPart, delta: PartDelta): void {
  part.text += delta.text ?? ''
  if (delta.summary !== undefined) {
    const section = delta.section ?? Math.max(0, part.summary.length - 1)
    while (part.summary.length <= section) part.summary.push('')
    part.summary[section] += delta.summary
  }
  if (delta.signature !== undefined) part.signature = (part.signature ?? '') + delta.signature
  if (delta.encrypted !== undefined) part.encrypted = (part.encrypted ?? '') + delta.encrypted
}

function createReasoningWriter(content: ReasoningPart, frames: BlockFrames): PartWriter {
  const part = { ...content, summary: [...content.summary] }
  let shownField: 'text' | 'summary' | null = null
  let wasOpen = false
  const show = (kind: 'text' | 'summary', text: string): string => {
    if (text === '' || (shownField !== null && shownField !== kind)) return ''
    shownField = kind
    wasOpen = true
    const startFrame = frames.isOpen ? '' : frames.open(createThinkingBlock(part))
    return startFrame + frames.writeTextDelta('thinking_delta', 'thinking', text)
  }
  return {
    start: () => show('text', part.text) + show('summary', part.summary.join('\n\n')),
    add: (delta) => {
      const sections = part.summary.length
      appendReasoningDelta(part, delta)
      const gap = sections > 0 && part.summary.length > sections ? '\n\n' : ''
      return show('text', delta.text ?? '') + show('summary', delta.summary ? gap + delta.summary : '')
    },
    pause: () => (part.format === 'unknown' && part.signature === undefined ? frames.close() : null),
    close: () => {
      if (!frames.isOpen && wasOpen && part.signature === undefined) return ''
      if (!frames.isOpen) return writeUnreadableThinking(part, frames)
      return writeSignature(part, frames) + frames.close()
    },
  }
}

function createThinkingBlock(part: ReasoningPart): JsonObject {
  return { type: 'thinking', thinking: '', signature: '', ...encodeFormatHint(part) }
}

function writeSignature(part: ReasoningPart, frames: BlockFrames): string {
  const signature = encodeSignature(part)
  return signature === '' ? '' : frames.writeTextDelta('signature_delta', 'signature', signature)
}

/** Reasoning without readable text: only what the client must send back. */
function writeUnreadableThinking(part: ReasoningPart, frames: BlockFrames): string {
  if (isRedacted(part)) return frames.writeBlock({ type: 'redacted_thinking', data: part.encrypted })
  if (encodeSignature(part) === '') return ''
  return frames.open(createThinkingBlock(part)) + writeSignature(part, frames) + frames.close()
}

function createHiddenReasoningWriter(content: ReasoningPart, frames: BlockFrames): PartWriter {
  const part = { ...content, summary: [...content.summary] }
  return {
    start: () => '',
    add: (delta) => {
      appendReasoningDelta(part, delta)
      return ''
    },
    pause: () => (part.format === 'unknown' ? '' : null),
    close: () => {
      const block = encodeHiddenThinking(part)
      return block ? frames.writeBlock(block) : ''
    },
  }
}

/** The call at once, the result when it has ended. */
function createServerToolWriter(content: ServerToolPart, frames: BlockFrames): PartWriter {
  let ended: PartDelta['ended']
  const { input, ...use } = encodeServerToolUse(content)
  return {
    start: () =>
      frames.open({ ...use, input: {} }) +
      frames.writeTextDelta('input_json_delta', 'partial_json', JSON.stringify(input)) +
      frames.close(),
    add: (delta) => {
      ended = delta.ended ?? ended
      return ''
    },
    pause: () => '',
    close: () => (ended ? frames.writeBlock(encodeServerToolResult({ ...content, ...ended })) : ''),
  }
}

/** The blocks of a complete part; none where the format has none. */
export function encodeBlocks(part: OutputPart, hidesReasoning: boolean): JsonObject[] {
  if (part.kind === 'server-tool') return [encodeServerToolUse(part), encodeServerToolResult(part)]
  const block = encodeBlock(part, hidesReasoning)
  return block ? [block] : []
}

function encodeBlock(part: Exclude<OutputPart, ServerToolPart>, hidesReasoning: boolean): JsonObject | null {
  switch (part.kind) {
    case 'text':
      return encodeTextBlock(part)
    case 'refusal':
      return encodeTextBlock({ kind: 'text', text: part.text })
    case 'audio':
      return encodeTextBlock({ kind: 'text', text: part.transcript ?? '' })
    case 'reasoning':
      return hidesReasoning ? encodeHiddenThinking(part) : encodeThinking(part)
    case 'tool-call':
      return {
        type: 'tool_use',
        id: part.id,
        name: part.name,
        input: parseToolArguments(part.arguments, part.custom),
        caller: { type: 'direct' },
      }
    case 'image':
      return encodeImageBlock(part)
    case 'opaque':
      return part.wireFormat === 'messages' ? part.value : null
  }
}

function encodeTextBlock(part: TextPart): JsonObject | null {
  const citations = (part.citations ?? []).map(encodeCitation).filter((citation) => citation !== undefined)
  if (part.text === '' && citations.length === 0) return null
  return { type: 'text', text: part.text, citations: citations.length > 0 ? citations : null }
}

/** The vendor's models generate no images, so the block in which clients send images is used. */
function encodeImageBlock({ source }: ImagePart): JsonObject | null {
  if (source.kind === 'data') {
    return {
      type: 'image',
      source: { type: 'base64', media_type: source.mediaType, data: source.data },
    }
  }
  return source.kind === 'url' ? { type: 'image', source: { type: 'url', url: source.url } } : null
}
