import { JsonError } from './json-error.ts'
import { ShapeCounter } from './json-shapes.ts'
import { findStringEnd, isEscaped } from './json-string.ts'

/** Deeper than any real request; far below what overflows the stack of a recursive parser. */
export const maxDepth = 128

export function nestingError(): JsonError {
  return new JsonError(`nested deeper than ${maxDepth} levels`)
}

/** Upper bounds of a JSON text. */
export interface JsonBounds {
  /** Entries of arrays and members of objects; an empty container counts as one. */
  values?: number
  /** Combinations of names that its objects have. */
  shapes?: number
}

/** Characters remembered of a name that continues in the next chunk: the last ones. */
const maxPrefixLength = 256

/**
 * Counts the values of a JSON text while it arrives, before it is parsed: a parsed value takes many times the memory
 * of its text. Invalid JSON is left for the parser to reject.
 */
export class JsonCounter {
  readonly #bounds: Required<JsonBounds>
  /** Null unless shapes are bounded. */
  readonly #shapes: ShapeCounter | null
  #depth = 0
  #isInString = false
  /** The text so far ends with a backslash that escapes the next character. */
  #isEscaping = false
  /** The last string of the previous chunk, which may be a name. */
  #prefix = ''
  valueCount = 1
  memberCount = 0

  constructor({ values = Number.POSITIVE_INFINITY, shapes = Number.POSITIVE_INFINITY }: JsonBounds = {}) {
    this.#bounds = { values, shapes }
    this.#shapes = shapes === Number.POSITIVE_INFINITY ? null : new ShapeCounter(maxDepth)
  }

  add(text: string): void {
    if (text === '') return
    let start = 0
    let end = 0
    let at = 0
    if (this.#isInString) {
      end = this.#skipString(text, 0)
      at = end + 1
    }
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === quote) {
        this.#prefix = ''
        start = at + 1
        end = at = this.#skipString(text, start)
      } else if (code === 0x2c) this.valueCount++
      else if (code === 0x3a) {
        this.memberCount++
        this.#shapes?.addName(this.#depth, this.#prefix, text, start, end)
      } else if (code === 0x7b || code === 0x5b) {
        this.valueCount++
        if (++this.#depth > maxDepth) throw nestingError()
        if (code === 0x7b) this.#shapes?.openObject(this.#depth)
      } else if (code === 0x7d || code === 0x5d) this.#depth--
    }
    if (this.#shapes) this.#prefix = (this.#prefix + text.slice(start, end)).slice(-maxPrefixLength)
    this.#assertBounds()
  }

  #assertBounds(): void {
    const { values, shapes } = this.#bounds
    if (this.valueCount > values)
      throw new JsonError(`larger than the maximum: it has more than ${values} JSON values`)
    if (this.#shapes && this.#shapes.count > shapes)
      throw new JsonError(
        `larger than the maximum: its objects have more than ${shapes} combinations of names`,
      )
  }

  /** Returns the position of the closing quote, or the end of the text if the string continues. */
  #skipString(text: string, from: number): number {
    const start = this.#isEscaping ? from + 1 : from
    const end = findStringEnd(text, start)
    this.#isInString = end >= text.length
    this.#isEscaping = this.#isInString && isEscaped(text, start, text.length)
    return end
  }
}

const quote = 0x22
