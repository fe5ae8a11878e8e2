import { copyPart } from '../text/copy-text.ts'
import { StringBuilder } from '../text/string-builder.ts'
import { findBareError, toErrorFrame } from './sse-error.ts'

/** One server-sent event. */
export interface SseFrame {
  event: string
  data: string
  /** The stream ended before the blank line after the event, so it may be incomplete. */
  truncated?: true
}

/** Splits a byte stream into events, whatever the chunk boundaries. */
export interface FrameReader {
  push(bytes: Uint8Array): SseFrame[]
  /** The rest, at the end of the stream. */
  end(): SseFrame[]
}

/** Large enough for an image in base64; bounds an endless line. */
const maxFrameLength = 48 * 1024 * 1024

export class SseError extends Error {}

/** Skips comments. */
export class SseReader implements FrameReader {
  readonly #decoder = new TextDecoder()
  readonly #maxLength: number
  /** Chunks of an incomplete event, joined only at its end, so that a long event is not copied for each chunk. */
  readonly #buffer = new StringBuilder()
  #length = 0
  #tail = ''

  constructor(maxLength = maxFrameLength) {
    this.#maxLength = maxLength
  }

  push(bytes: Uint8Array): SseFrame[] {
    return this.split(this.decode(bytes))
  }

  /** The first half of `push`. */
  decode(bytes: Uint8Array): string {
    return this.#decoder.decode(bytes, { stream: true })
  }

  /** Whether the next text begins an event. */
  get isBetweenEvents(): boolean {
    return this.#length === 0
  }

  /** The second half of `push`. */
  split(decoded: string): SseFrame[] {
    const wasEmpty = this.#length === 0
    this.#length += decoded.length
    if (this.#length > this.#maxLength) throw new SseError('an event of the stream is too long')
    if (wasEmpty && decoded.endsWith('\n\n') && !decoded.includes('\r')) return this.#takeWhole(decoded)
    const seam = this.#tail + decoded
    this.#tail = seam.slice(-3)
    const hasFrameEnd = seam.includes('\n\n') || crBlankLine.test(seam)
    if (!hasFrameEnd || !wasEmpty) this.#buffer.add(decoded)
    if (!hasFrameEnd) return []
    const text = wasEmpty ? decoded : this.#buffer.take()
    const { frames, consumed } = splitFrames(text)
    const rest = consumed === text.length ? '' : copyPart(text.slice(consumed), text)
    this.#buffer.add(rest)
    this.#length = rest.length
    return frames
  }

  /** Nearly every chunk is one or more whole events. */
  #takeWhole(text: string): SseFrame[] {
    this.#length = 0
    this.#tail = ''
    return splitLfFrames(text).frames
  }

  /** A last event without its blank line: some vendors close the stream right after it. */
  end(): SseFrame[] {
    const rest = this.#buffer.take() + this.#decoder.decode()
    const frame = parseFrame(rest)
    if (!frame) return []
    return [/[\r\n]{2}$/.test(rest) ? frame : { ...frame, truncated: true }]
  }
}

const crBlankLine = /\r\r|\n\r/

/** Almost every vendor ends lines with \n alone; the others take the slower path. */
function splitFrames(text: string): { frames: SseFrame[]; consumed: number } {
  return text.includes('\r') ? splitAnyFrames(text) : splitLfFrames(text)
}

function splitLfFrames(text: string): { frames: SseFrame[]; consumed: number } {
  const frames: SseFrame[] = []
  let consumed = 0
  for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n', consumed)) {
    const frame = parseFrame(text.slice(consumed, end))
    if (frame) frames.push(frame)
    consumed = end + 2
  }
  return { frames, consumed }
}

const anyBlankLine = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)/g

function splitAnyFrames(text: string): { frames: SseFrame[]; consumed: number } {
  const frames: SseFrame[] = []
  let consumed = 0
  for (;;) {
    anyBlankLine.lastIndex = consumed
    const match = anyBlankLine.exec(text)
    // A lone \r at the very end may be half of \r\n.
    if (!match || (match[0].endsWith('\r') && anyBlankLine.lastIndex === text.length))
      return { frames, consumed }
    const frame = parseFrame(text.slice(consumed, match.index))
    if (frame) frames.push(frame)
    consumed = match.index + match[0].length
  }
}

function parseFrame(block: string): SseFrame | null {
  if (block.startsWith('data: ') && !block.includes('\n') && !block.includes('\r')) {
    return { event: '', data: block.slice(6) }
  }
  let event = ''
  const data: string[] = []
  for (const line of block.split(/\r\n|\n|\r/)) {
    if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5))
    else if (line.startsWith('event:')) event = line.slice(6).trim()
  }
  if (data.length === 0) return findBareError(block)
  const text = data.join('\n')
  return event === 'error' ? toErrorFrame(text) : { event, data: text }
}
