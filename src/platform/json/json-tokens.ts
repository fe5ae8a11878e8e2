/**
 * A position in a JSON text that is read token by token. It has no memory but the kinds of the open containers, so that
 * a text of any length can be checked, which parsing it cannot: a parsed value takes many times the memory of its text.
 */
export class JsonTokens {
  readonly #text: string
  /** One for each open container: whether it is an object. */
  #containers = new Uint8Array(64)
  #depth = 0
  #expected: Expected = 'value'
  #at = 0
  /** Offsets of the last literal: a string with its quotation marks, a number or a word. */
  start = 0
  end = 0

  constructor(text: string) {
    this.#text = text
  }

  get isString(): boolean {
    return this.#text.charCodeAt(this.start) === quote
  }

  /** Whether all of the text was read, and is one value. */
  get isComplete(): boolean {
    return this.#at === this.#text.length && this.#depth === 0 && this.#expected === 'separator'
  }

  /** Reads up to the end of the next literal. False at the end of the text, or where it is not valid JSON. */
  readLiteral(): boolean {
    for (;;) {
      this.#skipSpace()
      if (this.#at >= this.#text.length) return false
      const code = this.#text.charCodeAt(this.#at)
      if (this.#expected === 'separator' || code === closeObject || code === closeList) {
        if (!this.#readSeparator(code)) return false
      } else if (code === openObject || code === openList) {
        if (this.#isNameExpected()) return false
        this.#open(code === openObject)
      } else return this.#readScalar(code)
    }
  }

  #isNameExpected(): boolean {
    return this.#expected === 'name' || this.#expected === 'first-name'
  }

  #skipSpace(): void {
    for (; ; this.#at++) {
      const code = this.#text.charCodeAt(this.#at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
    }
  }

  #open(isObject: boolean): void {
    if (this.#depth === this.#containers.length) {
      const larger = new Uint8Array(2 * this.#depth)
      larger.set(this.#containers)
      this.#containers = larger
    }
    this.#containers[this.#depth++] = isObject ? 1 : 0
    this.#expected = isObject ? 'first-name' : 'first-entry'
    this.#at++
  }

  /** A comma, or the end of a container. */
  #readSeparator(code: number): boolean {
    if (this.#depth === 0) return false
    const isObject = this.#containers[this.#depth - 1] === 1
    if (code === comma && this.#expected === 'separator') this.#expected = isObject ? 'name' : 'value'
    else if (code === (isObject ? closeObject : closeList) && mayClose.has(this.#expected)) {
      this.#depth--
      this.#expected = 'separator'
    } else return false
    this.#at++
    return true
  }

  #readScalar(code: number): boolean {
    const isName = this.#isNameExpected()
    const end = code === quote ? this.#findStringEnd() : isName ? -1 : this.#findWordEnd()
    if (end === -1) return false
    this.start = this.#at
    this.#at = this.end = end
    this.#expected = 'separator'
    return !isName || this.#readColon()
  }

  #readColon(): boolean {
    this.#skipSpace()
    if (this.#text.charCodeAt(this.#at) !== colon) return false
    this.#at++
    this.#expected = 'value'
    return true
  }

  /** The offset after the closing quotation mark; -1 for a string that is not valid. */
  #findStringEnd(): number {
    for (let at = this.#at + 1; at < this.#text.length; at++) {
      const code = this.#text.charCodeAt(at)
      if (code === quote) return at + 1
      if (code < 0x20) return -1
      if (code !== backslash) continue
      const length = measureEscape(this.#text, at)
      if (length === 0) return -1
      at += length - 1
    }
    return -1
  }

  #findWordEnd(): number {
    wordPattern.lastIndex = this.#at
    return wordPattern.test(this.#text) ? wordPattern.lastIndex : -1
  }
}

type Expected = 'value' | 'first-entry' | 'name' | 'first-name' | 'separator'
const mayClose: ReadonlySet<Expected> = new Set(['first-entry', 'first-name', 'separator'])

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const backslash = 0x5c
const [openObject, closeObject, openList, closeList] = [0x7b, 0x7d, 0x5b, 0x5d]

const wordPattern = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
const escapePattern = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

/** 0 if it is not valid. */
function measureEscape(text: string, at: number): number {
  escapePattern.lastIndex = at
  return escapePattern.test(text) ? escapePattern.lastIndex - at : 0
}
