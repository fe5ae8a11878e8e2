import type { PlacedText } from '../../formats/call/texts.ts'

/** Distinct values of a request, and their characters; the label replaces what exceeds that. */
const maxValues = 10_000
const maxCharacters = 1024 * 1024
const maxNameLength = 40

/** What has the form of a placeholder. It contains no other one. */
const placeholderForm = /\[[a-z][a-z0-9_]*_[1-9][0-9]*\]/gi

/**
 * The placeholders of a request, such as `[EMAIL_1]`, and the values they stand for. They are known for as long as the
 * request is served, and are compared without regard to case.
 */
export class Placeholders {
  readonly #byValue = new Map<string, string>()
  /** By the placeholder in lower case. */
  readonly #values = new Map<string, string>()
  /** The last number of each name. */
  readonly #numbers = new Map<string, number>()
  /** Texts of the request that have the form of placeholders. */
  readonly #written = new Set<string>()
  #characters = 0
  #maxLength = 0
  /** The placeholders in order, for `isOpen`; null if one was added since. */
  #sorted: string[] | null = null

  get size(): number {
    return this.#values.size
  }

  /** Excludes the placeholders that occur in these texts: a client may have written them itself. */
  exclude(texts: readonly PlacedText[]): void {
    for (const { text } of texts)
      for (const [written] of text.matchAll(placeholderForm)) this.#written.add(written.toLowerCase())
  }

  /** The placeholder of a value, which is the same each time; the label if there are too many. */
  assign(label: string, value: string): string {
    const known = this.#byValue.get(value)
    if (known !== undefined) return known
    if (this.size >= maxValues || this.#characters + value.length > maxCharacters) return label
    const placeholder = this.#createPlaceholder(nameOf(label))
    this.#byValue.set(value, placeholder)
    this.#values.set(placeholder.toLowerCase(), value)
    this.#characters += value.length
    this.#maxLength = Math.max(this.#maxLength, placeholder.length)
    this.#sorted = null
    return placeholder
  }

  /** Where the text ends with the beginning of a placeholder; its length if it does not. */
  findOpen(text: string): number {
    const start = text.lastIndexOf('[')
    if (start === -1 || text.length - start >= this.#maxLength) return text.length
    return this.#isOpen(text.slice(start).toLowerCase()) ? start : text.length
  }

  /** The placeholders in a text, in order, with the values to restore. */
  *find(text: string): Generator<{ start: number; end: number; value: string }> {
    for (const { 0: written, index } of text.matchAll(placeholderForm)) {
      const value = this.#values.get(written.toLowerCase())
      if (value !== undefined) yield { start: index, end: index + written.length, value }
    }
  }

  #createPlaceholder(name: string): string {
    for (let number = (this.#numbers.get(name) ?? 0) + 1; ; number++) {
      const placeholder = `[${name}_${number}]`
      if (this.#written.has(placeholder.toLowerCase())) continue
      this.#numbers.set(name, number)
      return placeholder
    }
  }

  #isOpen(beginning: string): boolean {
    this.#sorted ??= [...this.#values.keys()].sort()
    let [low, high] = [0, this.#sorted.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#sorted[middle] ?? '') < beginning) low = middle + 1
      else high = middle
    }
    return this.#sorted[low]?.startsWith(beginning) ?? false
  }
}

/** `[SECRET:github-token]` is `SECRET`. */
function nameOf(label: string): string {
  const [kind = ''] = label.split(':', 1)
  const name = kind
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^[_0-9]+|_+$/g, '')
  return name.slice(0, maxNameLength).replace(/_+$/, '') || 'REDACTED'
}
