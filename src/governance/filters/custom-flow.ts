import { type PatternProgram, PatternProgress } from '../../platform/text/pattern-progress.ts'
import { isPlain } from './plain-text.ts'

/** A longer piece is not followed, since that would hold up other requests. */
const maxPieceLength = 4096

/** How a text passes custom patterns while it arrives. Places are those of the whole text. */
export class CustomFlow {
  readonly #patterns: readonly PatternProgress[]
  readonly #window: number
  #length = 0
  /** The end of the last piece that was not followed, or has characters that patterns read in an ordinary form too. */
  #unknownEnd = Number.NEGATIVE_INFINITY

  /** `window`: the length of the longest match. */
  constructor(programs: readonly PatternProgram[], window: number) {
    this.#patterns = programs.map((program) => new PatternProgress(program))
    this.#window = window
  }

  add(piece: string): void {
    this.#length += piece.length
    if (this.#patterns.length === 0) return
    const isFollowed = piece.length <= maxPieceLength
    for (const pattern of this.#patterns) {
      if (isFollowed) pattern.add(piece)
      else pattern.skip(piece.length)
    }
    if (!isFollowed || !isPlain(piece)) this.#unknownEnd = this.#length
  }

  /** Where a match may begin that is not decided yet; 0 if that is not known. */
  findOpen(): number {
    if (this.#isUnknown) return 0
    return Math.min(this.#length, ...this.#patterns.map(({ open }) => open))
  }

  /** Whether a match may end behind this place. */
  mayMatch(from: number): boolean {
    return this.#isUnknown || this.#patterns.some(({ lastMatchEnd }) => lastMatchEnd > from)
  }

  get #isUnknown(): boolean {
    return this.#length - this.#unknownEnd <= this.#window
  }
}
