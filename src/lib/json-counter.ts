import { JsonError } from './json-error.ts'
import { findStringEnd, isEscaped } from './json-string.ts'

/** Deeper than any real request; far below what exhausts the stack of a recursive reader. */
const maxDepth = 128

/**
 * Counts what a JSON text is made of while it arrives, before anything is built from it: a parsed value takes many
 * times the memory of its text. Text that is not JSON is left for the parser to refuse.
 */
export class JsonCounter {
  readonly #maxValues: number
  readonly #maxContainers: number
  #depth = 0
  #containers = 0
  #isInString = false
  /** The last character so far was a backslash that escapes the next one. */
  #isEscaping = false
  /** Entries of lists and members of objects; an empty one counts as if it had one. */
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
        if (++this.#depth > maxDepth) throw new JsonError(`nested deeper than ${maxDepth} levels`)
      } else if (code === 0x7d || code === 0x5d) this.#depth--
    }
    if (this.valueCount > this.#maxValues)
      throw new JsonError(`made of more than ${this.#maxValues} JSON values`)
    if (this.#containers > this.#maxContainers)
      throw new JsonError(`made of more than ${this.#maxContainers} objects and lists`)
  }

  /** To the quote that closes the string, or to the end of the text where that is still to come. */
  #skipString(text: string, from: number): number {
    const start = this.#isEscaping ? from + 1 : from
    const end = findStringEnd(text, start)
    this.#isInString = end >= text.length
    this.#isEscaping = this.#isInString && isEscaped(text, start, text.length)
    return end
  }
}

const quote = 0x22
