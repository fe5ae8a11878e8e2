import type { PartDelta } from '../../call/event.ts'
import type {
  AudioPart,
  ImagePart,
  OutputPart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
} from '../../call/part.ts'
import type { JsonObject } from '../../lib/loose.ts'
import type { BlockFrames } from './block-frames.ts'
import { writeCitation } from './citation.ts'
import { hintOf, isRedacted, signatureOf, writeHidden, writeThinking } from './thinking.ts'
import { inputOf } from './tools.ts'

/** Writes one part of a reply. Nothing is opened before there is something to say. */
export interface PartWriter {
  start(): string
  add(delta: PartDelta): string
  /** Makes room for another part; null where the block must stay in one piece. */
  pause(): string | null
  close(): string
}

/** Null for a part the format has no block for. */
export function partWriter(content: OutputPart, frames: BlockFrames, hide: boolean): PartWriter | null {
  switch (content.kind) {
    case 'text':
    case 'refusal':
      return textWriter(content.kind === 'text' ? content : { kind: 'text', text: content.text }, frames)
    case 'audio':
      return audioWriter(content, frames)
    case 'reasoning':
      return hide ? hiddenWriter(content, frames) : reasoningWriter(content, frames)
    case 'tool-call':
      return toolWriter(content, frames)
    case 'image':
    case 'opaque': {
      const block = blockOf(content, hide)
      return block && { start: () => frames.whole(block), add: () => '', pause: () => '', close: () => '' }
    }
  }
}

function textWriter(content: TextPart, frames: BlockFrames): PartWriter {
  const add = ({ text, citation }: PartDelta): string => {
    const cited = citation && writeCitation(citation)
    if (!text && !cited) return ''
    const opened = frames.isOpen ? '' : frames.open({ type: 'text', text: '', citations: null })
    const said = text ? frames.piece('text_delta', 'text', text) : ''
    return opened + said + (cited ? frames.delta({ type: 'citations_delta', citation: cited }) : '')
  }
  return {
    start: () =>
      add({ text: content.text }) + (content.citations ?? []).map((citation) => add({ citation })).join(''),
    add,
    pause: () => frames.close(),
    close: () => frames.close(),
  }
}

/** The format has no sound: what was said is text. */
function audioWriter(content: AudioPart, frames: BlockFrames): PartWriter {
  const writer = textWriter({ kind: 'text', text: content.transcript ?? '' }, frames)
  return { ...writer, add: ({ transcript }) => writer.add({ text: transcript ?? '' }) }
}

function toolWriter(content: ToolCallPart, frames: BlockFrames): PartWriter {
  const { id, name, custom } = content
  const json = (text: string) => (text === '' ? '' : frames.piece('input_json_delta', 'partial_json', text))
  // Free text becomes the one string of an object, escaped as it comes.
  const piece = (text: string) => json(custom ? JSON.stringify(text).slice(1, -1) : text)
  return {
    start: () =>
      frames.open({ type: 'tool_use', id, name, input: {}, caller: { type: 'direct' } }) +
      (custom ? json('{"input":"') : '') +
      piece(content.arguments),
    add: (delta) => piece(delta.arguments ?? ''),
    pause: () => null,
    close: () => (custom ? json('"}') : '') + frames.close(),
  }
}

function appendTo(part: ReasoningPart, delta: PartDelta): void {
  part.text += delta.text ?? ''
  if (delta.summary !== undefined) {
    const section = delta.section ?? Math.max(0, part.summary.length - 1)
    while (part.summary.length <= section) part.summary.push('')
    part.summary[section] += delta.summary
  }
  if (delta.signature !== undefined) part.signature = (part.signature ?? '') + delta.signature
  if (delta.encrypted !== undefined) part.encrypted = (part.encrypted ?? '') + delta.encrypted
}

function reasoningWriter(content: ReasoningPart, frames: BlockFrames): PartWriter {
  const part = { ...content, summary: [...content.summary] }
  let shown: 'text' | 'summary' | null = null
  let wasOpen = false
  const show = (kind: 'text' | 'summary', text: string): string => {
    if (text === '' || (shown !== null && shown !== kind)) return ''
    shown = kind
    wasOpen = true
    const opened = frames.isOpen ? '' : frames.open(emptyThinking(part))
    return opened + frames.piece('thinking_delta', 'thinking', text)
  }
  return {
    start: () => show('text', part.text) + show('summary', part.summary.join('\n\n')),
    add: (delta) => {
      const sections = part.summary.length
      appendTo(part, delta)
      const gap = sections > 0 && part.summary.length > sections ? '\n\n' : ''
      return show('text', delta.text ?? '') + show('summary', delta.summary ? gap + delta.summary : '')
    },
    pause: () => (part.format === 'unknown' && part.signature === undefined ? frames.close() : null),
    close: () => {
      if (!frames.isOpen && wasOpen && part.signature === undefined) return ''
      if (!frames.isOpen) return wholeThinking(part, frames)
      return signatureFrame(part, frames) + frames.close()
    },
  }
}

function emptyThinking(part: ReasoningPart): JsonObject {
  return { type: 'thinking', thinking: '', signature: '', ...hintOf(part) }
}

function signatureFrame(part: ReasoningPart, frames: BlockFrames): string {
  const signature = signatureOf(part)
  return signature === '' ? '' : frames.piece('signature_delta', 'signature', signature)
}

/** Nothing of it was readable. */
function wholeThinking(part: ReasoningPart, frames: BlockFrames): string {
  if (isRedacted(part)) return frames.whole({ type: 'redacted_thinking', data: part.encrypted })
  if (signatureOf(part) === '') return ''
  return frames.open(emptyThinking(part)) + signatureFrame(part, frames) + frames.close()
}

function hiddenWriter(content: ReasoningPart, frames: BlockFrames): PartWriter {
  const part = { ...content, summary: [...content.summary] }
  return {
    start: () => '',
    add: (delta) => {
      appendTo(part, delta)
      return ''
    },
    pause: () => (part.format === 'unknown' ? '' : null),
    close: () => {
      const block = writeHidden(part)
      return block ? frames.whole(block) : ''
    },
  }
}

/** The block of a whole part; null where there is none. */
export function blockOf(part: OutputPart, hide: boolean): JsonObject | null {
  switch (part.kind) {
    case 'text':
      return textBlock(part)
    case 'refusal':
      return textBlock({ kind: 'text', text: part.text })
    case 'audio':
      return textBlock({ kind: 'text', text: part.transcript ?? '' })
    case 'reasoning':
      return hide ? writeHidden(part) : writeThinking(part)
    case 'tool-call':
      return {
        type: 'tool_use',
        id: part.id,
        name: part.name,
        input: inputOf(part.arguments, part.custom),
        caller: { type: 'direct' },
      }
    case 'image':
      return imageBlock(part)
    case 'opaque':
      return part.dialect === 'messages' ? part.value : null
  }
}

function textBlock(part: TextPart): JsonObject | null {
  const citations = (part.citations ?? []).map(writeCitation).filter((citation) => citation !== undefined)
  if (part.text === '' && citations.length === 0) return null
  return { type: 'text', text: part.text, citations: citations.length > 0 ? citations : null }
}

/** The vendor's models make no pictures; this is the block by which a client sends one. */
function imageBlock({ source }: ImagePart): JsonObject | null {
  if (source.kind === 'data') {
    return {
      type: 'image',
      source: { type: 'base64', media_type: source.mediaType, data: source.data },
    }
  }
  return source.kind === 'url' ? { type: 'image', source: { type: 'url', url: source.url } } : null
}
