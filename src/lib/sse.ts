import { StringBuilder } from './string-builder.ts'

/** One server-sent event. */
export interface SseFrame {
  event: string
  data: string
  /** The stream ended before the blank line after it: it may be cut short. */
  truncated?: true
}

/** Cuts a stream of bytes into events, wherever the bytes were split. */
export interface FrameReader {
  push(bytes: Uint8Array): SseFrame[]
  /** What is left when the stream is over. */
  end(): SseFrame[]
}

/** Longer events are not believed: an image in base64 fits, an endless line does not. */
const maxFrameLength = 48 * 1024 * 1024

export class SseError extends Error {}

/** Cuts a byte stream into events, wherever the bytes were split. Comments are passed over. */
export class SseReader implements FrameReader {
  readonly #decoder = new TextDecoder()
  readonly #maxLength: number
  /** Pieces of an event that is not complete; joined when a line ends, so that a long one is not copied each time. */
  readonly #buffer = new StringBuilder()
  #length = 0
  #tail = ''

  constructor(maxLength = maxFrameLength) {
    this.#maxLength = maxLength
  }

  push(bytes: Uint8Array): SseFrame[] {
    const decoded = this.#decoder.decode(bytes, { stream: true })
    const wasEmpty = this.#length === 0
    this.#length += decoded.length
    if (this.#length > this.#maxLength) throw new SseError('an event of the stream is too long')
    // Only where a blank line ends is anything joined: a long event is not copied for each of its pieces.
    const seam = this.#tail + decoded
    this.#tail = seam.slice(-3)
    const hasFrameEnd = seam.includes('\n\n') || crBlankLine.test(seam)
    if (!hasFrameEnd || !wasEmpty) this.#buffer.add(decoded)
    if (!hasFrameEnd) return []
    const text = wasEmpty ? decoded : this.#buffer.take()
    const { frames, consumed } = splitFrames(text)
    const rest = consumed === text.length ? '' : text.slice(consumed)
    this.#buffer.add(rest)
    this.#length = rest.length
    return frames
  }

  /** What was left without its blank line: a vendor may close right after its last event. */
  end(): SseFrame[] {
    const rest = this.#buffer.take() + this.#decoder.decode()
    const frame = parseFrame(rest)
    if (!frame) return []
    return [/[\r\n]{2}$/.test(rest) ? frame : { ...frame, truncated: true }]
  }
}

const crBlankLine = /\r\r|\n\r/

/** Almost every vendor ends lines with \n alone; the others take the slower way. */
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
  return data.length === 0 ? null : { event, data: data.join('\n') }
}
