import { JsonTokens } from '../../platform/json/json-tokens.ts'
import { StringBuilder } from '../../platform/text/string-builder.ts'

/** A part of a text and what replaces it. */
export interface Edit {
  start: number
  end: number
  label: string
  /** What it replaces may be restored later. */
  isReversible?: boolean
}

/** A JSON text whose strings can be read and replaced. */
export interface JsonText {
  /** The text with the escapes of its strings decoded. */
  readable: string
  /** Translates edits of the readable text. */
  openEditor(): JsonEditor
  /** The text with the edits of the readable one, still valid JSON. */
  apply(edits: readonly Edit[]): string
}

/** Null for a text that is no JSON object or list. */
export function readJsonText(text: string): JsonText | null {
  if (!/^\s*[{[]/.test(text)) return null
  const tokens = new JsonTokens(text)
  const readable = new StringBuilder()
  let [at, nextEscape] = [0, text.indexOf('\\')]
  while (tokens.readLiteral()) {
    const { start, end } = tokens
    if (nextEscape !== -1 && nextEscape < start) nextEscape = text.indexOf('\\', start)
    if (nextEscape === -1 || nextEscape >= end) continue
    readable.add(text.slice(at, start + 1))
    readable.add(String(JSON.parse(text.slice(start, end))))
    at = end - 1
  }
  if (!tokens.isComplete) return null
  if (at > 0) readable.add(text.slice(at))
  const openEditor = () => new JsonEditor(text)
  return {
    readable: at > 0 ? readable.take() : text,
    openEditor,
    apply: (edits) => {
      const editor = openEditor()
      return applyTextEdits(text, [...editor.translate(edits), ...editor.end()])
    },
  }
}

/**
 * Edits of a readable JSON text as edits of the text itself, which stays valid. It reads the text along with the edits,
 * since a list of its strings can take more memory than the text.
 */
export class JsonEditor {
  readonly #text: string
  readonly #tokens: JsonTokens
  #hasLiteral = false
  /** Offsets of the content of the current literal: its end in the text, its start and end in the readable text. */
  #contentEnd = 0
  #readableStart = 0
  #readableEnd = 0
  /** A place in the content, in the text and in the readable one. */
  #at = 0
  #readableAt = 0
  #nextEscape: number
  /** Characters by which escapes have made the readable text shorter, up to the current literal. */
  #removed = 0
  /** The current literal is a number or a word that becomes a string. */
  #isQuoted = false
  /** The label of an edit that began between two literals. */
  #label = ''

  constructor(text: string) {
    this.#text = text
    this.#tokens = new JsonTokens(text)
    this.#nextEscape = text.indexOf('\\')
  }

  /** The edits are in order and do not overlap, also with those of earlier calls. */
  translate(edits: readonly Edit[]): Edit[] {
    const translated: Edit[] = []
    for (const edit of edits) this.#translateOne(edit, translated)
    return translated
  }

  /** Returns the edits that follow the last one. */
  end(): Edit[] {
    return this.#closeQuote()
  }

  /** An edit of several literals leaves its label in the first. */
  #translateOne({ start, end, label, isReversible = false }: Edit, translated: Edit[]): void {
    this.#label = label || this.#label
    for (;;) {
      if (!this.#hasLiteral || this.#readableEnd <= start) {
        translated.push(...this.#closeQuote())
        if (!this.#readLiteral()) return
      } else if (this.#readableStart >= end) return
      else {
        const from = Math.max(start, this.#readableStart)
        const to = Math.min(end, this.#readableEnd)
        // Restored as one value: a match of several literals cannot be.
        const isWhole = from === start && to === end
        if (to > from) translated.push(...this.#editContent(from, to, isReversible && isWhole))
        if (end <= this.#readableEnd) return
        translated.push(...this.#closeQuote())
        if (!this.#readLiteral()) return
      }
    }
  }

  #editContent(from: number, to: number, isReversible: boolean): Edit[] {
    const edits: Edit[] = []
    if (!this.#tokens.isString && !this.#isQuoted) {
      this.#isQuoted = true
      edits.push({ start: this.#tokens.start, end: this.#tokens.start, label: '"' })
    }
    const start = this.#locate(from)
    const label = escapeJson(this.#label)
    edits.push({ start, end: this.#locate(to), label, ...(isReversible && { isReversible }) })
    this.#label = ''
    return edits
  }

  #closeQuote(): Edit[] {
    if (!this.#isQuoted) return []
    this.#isQuoted = false
    return [{ start: this.#contentEnd, end: this.#contentEnd, label: '"' }]
  }

  #readLiteral(): boolean {
    if (this.#hasLiteral) {
      this.#locate(this.#readableEnd)
      this.#removed = this.#at - this.#readableAt
    }
    this.#hasLiteral = this.#tokens.readLiteral()
    if (!this.#hasLiteral) return false
    const { start, end, isString } = this.#tokens
    this.#at = isString ? start + 1 : start
    this.#contentEnd = isString ? end - 1 : end
    this.#readableAt = this.#readableStart = this.#at - this.#removed
    this.#readableEnd = this.#contentEnd - this.#removed - this.#countEscaped()
    return true
  }

  /** Counts the characters that the escapes of the current literal add to it. */
  #countEscaped(): number {
    let count = 0
    if (this.#nextEscape !== -1 && this.#nextEscape < this.#at)
      this.#nextEscape = this.#text.indexOf('\\', this.#at)
    for (let at = this.#nextEscape; at !== -1 && at < this.#contentEnd; ) {
      const length = measureEscape(this.#text, at)
      count += length - 1
      at = this.#text.indexOf('\\', at + length)
    }
    return count
  }

  /** The place of a character of the current literal, which is not before the last one that was located. */
  #locate(readable: number): number {
    for (;;) {
      const distance = readable - this.#readableAt
      const next = this.#nextEscape
      if (next === -1 || next >= this.#contentEnd || distance <= next - this.#at) {
        this.#at += distance
        this.#readableAt = readable
        return this.#at
      }
      this.#readableAt += next - this.#at + 1
      this.#at = next + measureEscape(this.#text, next)
      this.#nextEscape = this.#text.indexOf('\\', this.#at)
    }
  }
}

/** The length of an escape in a valid text. */
function measureEscape(text: string, at: number): number {
  return text.charAt(at + 1) === 'u' ? 6 : 2
}

/** The text with its edits, which are in order and do not overlap. */
export function applyTextEdits(text: string, edits: readonly Edit[]): string {
  // Joined at once: a string that grows by many small ones takes many times its length.
  const parts: string[] = []
  let at = 0
  for (const { start, end, label } of edits) {
    parts.push(text.slice(at, start), label)
    at = end
  }
  parts.push(text.slice(at))
  return parts.join('')
}

/** The characters of a part of a JSON string. */
export function unescapeJson(text: string): string {
  return text.includes('\\') ? String(JSON.parse(`"${text}"`)) : text
}

/** The characters as they stand in a JSON string. */
export function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}
