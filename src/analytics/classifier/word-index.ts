import type { Concept } from './signals.ts'

/** `plan*` matches every word that begins with it; `unit_test*` is a phrase whose last word does. */
export type WordLists = Partial<Record<Concept, string>>

interface Phrase {
  /** The words after the first. */
  rest: string[]
  /** The last word is a prefix. */
  isPrefix: boolean
  concept: Concept
}

const minPrefixLength = 2
const maxPrefixLength = 14

/** Finds the concepts of the words of a text. */
export class WordIndex {
  readonly #words = new Map<string, Concept[]>()
  readonly #prefixes = new Map<string, Concept[]>()
  readonly #phrases = new Map<string, Phrase[]>()

  constructor(lists: readonly WordLists[]) {
    for (const list of lists) {
      for (const [concept, entries] of Object.entries(list)) {
        for (const entry of entries.split(' ')) this.#add(entry, concept as Concept)
      }
    }
  }

  #add(entry: string, concept: Concept): void {
    const isPrefix = entry.endsWith('*')
    const [first = '', ...rest] = entry.replace('*', '').split('_').filter(Boolean)
    if (rest.length > 0) append(this.#phrases, first, { rest, isPrefix, concept })
    else append(isPrefix ? this.#prefixes : this.#words, first, concept)
  }

  /** Calls `found` for every concept of the word, or of a phrase that begins with it. */
  match(words: readonly string[], at: number, found: (concept: Concept) => void): void {
    const word = words[at] ?? ''
    for (const concept of this.#words.get(word) ?? []) found(concept)
    const longest = Math.min(word.length, maxPrefixLength)
    for (let length = minPrefixLength; length <= longest; length++) {
      for (const concept of this.#prefixes.get(word.slice(0, length)) ?? []) found(concept)
    }
    for (const phrase of this.#phrases.get(word) ?? []) {
      if (hasPhrase(words, at + 1, phrase)) found(phrase.concept)
    }
  }
}

function append<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key)
  if (list) list.push(item)
  else lists.set(key, [item])
}

function hasPhrase(words: readonly string[], at: number, { rest, isPrefix }: Phrase): boolean {
  const last = rest.length - 1
  return rest.every((expected, index) => {
    const word = words[at + index]
    return isPrefix && index === last ? word?.startsWith(expected) : word === expected
  })
}

/** Splits a text into words in lower case without accents, so that `débogue` and `debogue` are the same word. */
export function splitWords(text: string): string[] {
  const plain = text
    .toLowerCase()
    .replace(/[äöüß]/g, (letter) => germanLetters[letter] ?? letter)
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
  return plain.match(/[\p{L}\p{N}]+[+#]{0,2}(?:&\p{L})?/gu) ?? []
}

const germanLetters: Record<string, string> = { ä: 'ae', ö: 'oe', ü: 'ue', ß: 'ss' }
