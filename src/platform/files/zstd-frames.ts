/** Bytes to read next. */
interface Step {
  count: number
  /** Whether the value of the bytes matters. */
  isRead: boolean
  /** Whether data may end before these bytes. */
  isBoundary: boolean
}

const skippableMagic = 0x184d2a50
/** The sizes of optional fields of a frame header, by the bits of its descriptor (RFC 8878, section 3.1.1.1). */
const dictionaryIdSizes = [0, 1, 2, 4]
const contentSizeSizes = [0, 2, 4, 8]
const runLengthBlock = 1

/** Follows the frames of zstd data: the decoder of the runtime does not notice when the last one is cut. */
export class ZstdFrames {
  readonly #steps = walkFrames()
  #step: Step
  #remaining: number
  #bytes: number[] = []

  constructor() {
    this.#step = this.#steps.next([]).value
    this.#remaining = this.#step.count
  }

  /** Whether the data so far consists of whole frames. */
  get isComplete(): boolean {
    return this.#step.isBoundary && this.#remaining === this.#step.count
  }

  add(chunk: Uint8Array): void {
    let at = 0
    while (at < chunk.length) {
      const end = Math.min(chunk.length, at + this.#remaining)
      if (this.#step.isRead) this.#bytes.push(...chunk.subarray(at, end))
      this.#remaining -= end - at
      at = end
      while (this.#remaining === 0) this.#advance()
    }
  }

  #advance(): void {
    this.#step = this.#steps.next(this.#bytes).value
    this.#remaining = this.#step.count
    this.#bytes = []
  }
}

function* walkFrames(): Generator<Step, never, number[]> {
  for (;;) {
    const magic = toNumber(yield { count: 4, isRead: true, isBoundary: true })
    if (magic - (magic % 16) === skippableMagic) yield skip(toNumber(yield read(4)))
    else yield* walkFrame()
  }
}

function* walkFrame(): Generator<Step, void, number[]> {
  const [descriptor = 0] = yield read(1)
  const isSingleSegment = (descriptor & 0x20) !== 0
  const contentSize = contentSizeSizes[descriptor >> 6] || (isSingleSegment ? 1 : 0)
  yield skip((isSingleSegment ? 0 : 1) + (dictionaryIdSizes[descriptor & 3] ?? 0) + contentSize)
  for (let isLast = false; !isLast; ) {
    const header = toNumber(yield read(3))
    isLast = (header & 1) === 1
    yield skip(((header >> 1) & 3) === runLengthBlock ? 1 : header >> 3)
  }
  const hasChecksum = (descriptor & 4) !== 0
  yield skip(hasChecksum ? 4 : 0)
}

function read(count: number): Step {
  return { count, isRead: true, isBoundary: false }
}

function skip(count: number): Step {
  return { count, isRead: false, isBoundary: false }
}

/** Little-endian. */
function toNumber(bytes: readonly number[]): number {
  return bytes.reduceRight((value, byte) => value * 256 + byte, 0)
}
