import { TextPieces } from './text-pieces.ts'

/** One server-sent event. */
export interface SseFrame {
  event: string
  data: string
  /** The stream ended before the blank line after it: it may be cut short. */
  unended?: true
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
  readonly #pieces = new TextPieces()
  #length = 0
  #tail = ''

  constructor(maxLength = maxFrameLength) {
    this.#maxLength = maxLength
  }

  push(bytes: Uint8Array): SseFrame[] {
    const piece = this.#decoder.decode(bytes, { stream: true })
    const isAlone = this.#length === 0
    this.#length += piece.length
    if (this.#length > this.#maxLength) throw new SseError('an event of the stream is too long')
    // Only where a blank line ends is anything joined: a long event is not copied for each of its pieces.
    const seam = this.#tail + piece
    this.#tail = seam.slice(-3)
    const isCut = seam.includes('\n\n') || otherBlankLine.test(seam)
    if (!isCut || !isAlone) this.#pieces.add(piece)
    if (!isCut) return []
    const text = isAlone ? piece : this.#pieces.take()
    const { frames, used } = cut(text)
    const rest = used === text.length ? '' : text.slice(used)
    this.#pieces.add(rest)
    this.#length = rest.length
    return frames
  }

  /** What was left without its blank line: a vendor may close right after its last event. */
  end(): SseFrame[] {
    const rest = this.#pieces.take() + this.#decoder.decode()
    const frame = parseFrame(rest)
    if (!frame) return []
    return [/[\r\n]{2}$/.test(rest) ? frame : { ...frame, unended: true }]
  }
}

const otherBlankLine = /\r\r|\n\r/

/** Almost every vendor ends lines with \n alone; the others take the slower way. */
function cut(text: string): { frames: SseFrame[]; used: number } {
  return text.includes('\r') ? cutAnyLines(text) : cutPlainLines(text)
}

function cutPlainLines(text: string): { frames: SseFrame[]; used: number } {
  const frames: SseFrame[] = []
  let used = 0
  for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n', used)) {
    const frame = parseFrame(text.slice(used, end))
    if (frame) frames.push(frame)
    used = end + 2
  }
  return { frames, used }
}

const anyBlankLine = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)/g

function cutAnyLines(text: string): { frames: SseFrame[]; used: number } {
  const frames: SseFrame[] = []
  let used = 0
  for (;;) {
    anyBlankLine.lastIndex = used
    const match = anyBlankLine.exec(text)
    // A lone \r at the very end may be half of \r\n.
    if (!match || (match[0].endsWith('\r') && anyBlankLine.lastIndex === text.length)) return { frames, used }
    const frame = parseFrame(text.slice(used, match.index))
    if (frame) frames.push(frame)
    used = match.index + match[0].length
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
