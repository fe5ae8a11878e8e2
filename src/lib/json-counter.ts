import { JsonError } from './json-error.ts'
import { findStringEnd, isEscaped } from './json-string.ts'

/** Deeper than any real request; far below what overflows the stack of a recursive parser. */
export const maxDepth = 128

export function nestingError(): JsonError {
  return new JsonError(`nested deeper than ${maxDepth} levels`)
}

/**
 * Counts the values of a JSON text while it arrives, before it is parsed: a parsed value takes many times the memory
 * of its text. Invalid JSON is left for the parser to reject.
 */
export class JsonCounter {
  readonly #maxValues: number
  readonly #maxContainers: number
  #depth = 0
  #containers = 0
  #isInString = false
  /** The text so far ends with a backslash that escapes the next character. */
  #isEscaping = false
  /** Entries of arrays and members of objects; an empty container counts as one. */
  valueCount = 1
  memberCount = 0

  constructor(maxValues = Number.POSITIVE_INFINITY, maxContainers = Number.POSITIVE_INFINITY) {
    this.#maxValues = maxValues
    this.#maxContainers = maxContainers
  }

  add(text: string): void {
    if (text === '') return
    for (let at = this.#isInString ? this.#skipString(text, 0) + 1 : 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === quote) at = this.#skipString(text, at + 1)
      else if (code === 0x2c) this.valueCount++
      else if (code === 0x3a) this.memberCount++
      else if (code === 0x7b || code === 0x5b) {
        this.valueCount++
        this.#containers++
        if (++this.#depth > maxDepth) throw nestingError()
      } else if (code === 0x7d || code === 0x5d) this.#depth--
    }
    if (this.valueCount > this.#maxValues)
      throw new JsonError(`larger than the maximum: it has more than ${this.#maxValues} JSON values`)
    if (this.#containers > this.#maxContainers)
      throw new JsonError(
        `larger than the maximum: it has more than ${this.#maxContainers} objects and arrays`,
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
