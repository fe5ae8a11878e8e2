import type { Span } from './detector.ts'
import model from './prompt-injection-model.json' with { type: 'json' }

/** A part of a text, with the probability that it tries to take over the model. */
export interface ScoredWindow {
  start: number
  end: number
  score: number
}

/** Words and pairs of words are hashed to so many features. */
export const featureCount = 1 << 16
/** A window is long enough for a few sentences: longer ones would hide an injection in a document. */
const windowWords = 64
/** Fewer words say too little. */
const minWords = 10
const stepWords = windowWords / 2

/** Words, letters of scripts without spaces, and signs by which roles and templates are marked. */
const tokenPattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|\p{L}[\p{L}\p{N}]{0,63}(?:['’]\p{L}{1,8})?|[[\]{}<>|:#*"]/gu

/** Short texts have little to judge by: their score is closer to the mean. */
export const shortPenalty = 16

const weights = new Int8Array(Buffer.from(model.weights, 'base64'))

/** The windows of a text whose score is at least the threshold. */
export function* findSuspectWindows(text: string, threshold: number, label: string): Generator<Span> {
  for (const { start, end, score } of scoreWindows(text))
    if (score >= threshold) yield { start, end, label, kind: 'suspect_text' }
}

/** Scores each window of a text, in order; the windows overlap by half. */
export function* scoreWindows(text: string): Generator<ScoredWindow> {
  for (const { start, end, features } of readWindows(text)) {
    let sum = 0
    for (const feature of features) sum += weights[feature] ?? 0
    const margin = model.bias + (model.scale * sum) / Math.sqrt(features.length + shortPenalty)
    yield { start, end, score: 1 / (1 + Math.exp(-margin)) }
  }
}

export interface TextWindow {
  start: number
  end: number
  /** Each feature once. */
  features: readonly number[]
}

/** Splits a text into windows, as the scorer and its training see it. */
export function* readWindows(text: string): Generator<TextWindow> {
  const window = new TokenWindow()
  let unread = 0
  for (const match of text.matchAll(tokenPattern)) {
    window.add(match[0], match.index)
    if (++unread < (window.isFull ? stepWords : windowWords)) continue
    window.isFull = true
    unread = 0
    yield window.read()
  }
  if (unread > 0 && window.count >= minWords) yield window.read()
}

/** In which window each feature was seen last: shared, since a window is read at once. */
const seen = new Float64Array(featureCount)
let windowNumber = 0

/** The last words of a text, as hashes. */
class TokenWindow {
  isFull = false
  readonly #words = new Uint16Array(windowWords)
  readonly #pairs = new Uint16Array(windowWords)
  readonly #starts = new Float64Array(windowWords)
  count = 0
  #previous = 0
  #end = 0

  add(token: string, index: number): void {
    const place = this.count++ % windowWords
    const hash = hashToken(token.toLowerCase(), offsetBasis)
    this.#words[place] = foldHash(hash)
    this.#pairs[place] = this.count > 1 ? foldHash(Math.imul(this.#previous, pairFactor) ^ hash) : 0
    this.#starts[place] = index
    this.#end = index + token.length
    this.#previous = hash
  }

  read(): TextWindow {
    const length = Math.min(this.count, windowWords)
    const first = this.count - length
    const features: number[] = []
    windowNumber++
    for (let at = first; at < this.count; at++) {
      addOnce(this.#words[at % windowWords] ?? 0, features)
      if (at > first) addOnce(this.#pairs[at % windowWords] ?? 0, features)
    }
    return { start: this.#starts[first % windowWords] ?? 0, end: this.#end, features }
  }
}

function addOnce(feature: number, features: number[]): void {
  if (seen[feature] === windowNumber) return
  seen[feature] = windowNumber
  features.push(feature)
}

// FNV-1a: short, and the same on every machine.
const offsetBasis = 2_166_136_261
const prime = 16_777_619
const pairFactor = 0x9e37_79b1

function hashToken(token: string, basis: number): number {
  let hash = basis
  for (let index = 0; index < token.length; index++) hash = Math.imul(hash ^ token.charCodeAt(index), prime)
  return hash
}

function foldHash(hash: number): number {
  return ((hash >>> 16) ^ hash) & (featureCount - 1)
}
