import { mapSpan, type Span } from './detector.ts'

/** A text in ordinary characters, and where its characters were before. */
export interface PlainText {
  text: string
  offsetOf: (index: number) => number
}

/**
 * Characters without a shape: they break words apart for a program, not for a reader. A text in UTF-16 has zeros between
 * its letters.
 */
const invisibleRanges =
  '\\0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0'
const invisible = new RegExp(`[${invisibleRanges}]`)
const unusual = new RegExp(`[${invisibleRanges}\\uff01-\\uff5e]`, 'g')
const lookalikeLetter = /[\u0391-\u03c9\u0405-\u0458]/g

/** Greek and Cyrillic letters with the shape of Latin ones. */
const lookalikes = new Map(
  zip('аеорсухіјѕАВЕКМНОРСТУХІЈЅ', 'aeopcyxijsABEKMHOPCTYXIJS').concat(
    zip('ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονιαρ', 'ABEZHIKMNOPTYXovıap'.replace('ı', 'i')),
  ),
)

/** Lookalike letters replaced by the Latin ones they resemble. */
export function plainLetters(text: string): PlainText {
  return respellText(text, lookalikeLetter, (letter) => lookalikes.get(letter) ?? letter)
}

/** Fullwidth characters replaced by ordinary ones, and invisible ones removed. */
export function plainCharacters(text: string): PlainText {
  return respellText(text, unusual, (character) =>
    invisible.test(character) ? '' : String.fromCharCode(character.charCodeAt(0) - 0xfee0),
  )
}

/** Whether a text has ordinary characters only. */
export function isPlain(text: string): boolean {
  return text.search(unusual) === -1
}

/** The index with so many visible characters behind it; 0 if there are fewer. */
export function findFromEnd(text: string, count: number): number {
  let index = text.length
  for (let visible = 0; index > 0 && visible < count; index--) {
    if (!invisible.test(text.charAt(index - 1))) visible++
  }
  return index
}

/** Finds matches in a text of ordinary characters, as spans of the original text. */
export function findInPlain(find: (text: string) => Iterable<Span>, plain: PlainText): Span[] {
  return [...mapInPlain(find(plain.text), plain)]
}

/** Spans of a text of ordinary characters, as spans of the text before. */
export function* mapInPlain(spans: Iterable<Span>, { offsetOf }: PlainText): Generator<Span> {
  for (const span of spans) yield mapSpan(span, offsetOf)
}

function respellText(text: string, pattern: RegExp, respell: (character: string) => string): PlainText {
  if (text.search(pattern) === -1) return { text, offsetOf: (index) => index }
  const removed = new IndexList()
  const plain = text.replace(pattern, (character, index: number) => {
    const replacement = respell(character)
    if (replacement === '') removed.add(index)
    return replacement
  })
  return { text: plain, offsetOf: (index) => findOriginal(removed.take(), index) }
}

/** Four bytes for each index: a text may consist of nothing but characters to remove. */
class IndexList {
  #indexes = new Int32Array(16)
  #count = 0

  add(index: number): void {
    if (this.#count === this.#indexes.length) {
      const larger = new Int32Array(2 * this.#count)
      larger.set(this.#indexes)
      this.#indexes = larger
    }
    this.#indexes[this.#count++] = index
  }

  take(): Int32Array {
    return this.#indexes.subarray(0, this.#count)
  }
}

/** The index plus the number of characters removed before it. */
function findOriginal(removed: Int32Array, index: number): number {
  let [low, high] = [0, removed.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((removed[middle] ?? 0) - middle <= index) low = middle + 1
    else high = middle
  }
  return index + low
}

function zip(from: string, to: string): [string, string][] {
  return [...from].map((character, index) => [character, to.charAt(index)])
}
