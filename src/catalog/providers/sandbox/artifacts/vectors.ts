import { runInSlices } from '../../../../platform/time/time-slicer.ts'
import { splitWords } from './words.ts'

export const maxDimensions = 4096

/** Shares of the features: whole words say most, pairs of words and parts of words refine. */
const wordWeight = 1
const pairWeight = 0.4
const gramWeight = 0.8
const gramLength = 3
/** Short words are mostly articles and prepositions, which say little. */
const shortWordLength = 3
const shortWordFactor = 0.3

/**
 * An embedding of unit length from hashed words, pairs of words and character n-grams: texts with words in common, or
 * parts of words, have a high cosine similarity.
 */
export async function embedText(text: string, dimensions: number): Promise<Float32Array> {
  if (!Number.isInteger(dimensions) || dimensions < 1 || dimensions > maxDimensions) {
    throw new RangeError(`dimensions must be a whole number from 1 to ${maxDimensions}`)
  }
  return runInSlices(accumulate(text, dimensions))
}

function* accumulate(text: string, dimensions: number): Generator<undefined, Float32Array> {
  const sums = new Float64Array(dimensions)
  let previous = ''
  for (const words of splitWords(text)) {
    for (const word of words) {
      const factor = word.length <= shortWordLength && word < '\u2e80' ? shortWordFactor : 1
      addFeature(sums, `w ${word}`, wordWeight * factor)
      if (previous) addFeature(sums, `p ${previous} ${word}`, pairWeight * factor)
      addGrams(sums, word, gramWeight * factor)
      previous = word
    }
    yield
  }
  return toUnitLength(sums)
}

/** The n-grams of a word with marks for its start and end, which share one weight. */
function addGrams(sums: Float64Array, word: string, weight: number): void {
  const marked = `<${word}>`
  const count = marked.length - gramLength + 1
  for (let at = 0; at < count; at++) {
    addFeature(sums, marked.slice(at, at + gramLength), weight / Math.sqrt(count))
  }
}

/** The sign makes features that fall on the same dimension cancel out on average. */
function addFeature(sums: Float64Array, feature: string, weight: number): void {
  const hash = hashText(feature)
  const index = (hash >>> 1) % sums.length
  sums[index] = (sums[index] ?? 0) + (hash & 1 ? weight : -weight)
}

/** FNV-1a with the final mix of MurmurHash3. */
function hashText(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

function toUnitLength(sums: Float64Array): Float32Array {
  let squares = 0
  for (const sum of sums) squares += sum * sum
  // Without words, or when all features cancel out.
  if (squares < 1e-12) return Float32Array.from(sums, (_, index) => (index === 0 ? 1 : 0))
  const length = Math.sqrt(squares)
  return Float32Array.from(sums, (sum) => sum / length)
}
