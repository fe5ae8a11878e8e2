import { runInSlices } from '../../../../platform/time/time-slicer.ts'
import { splitWords } from './words.ts'

/** The usual parameters: how fast repeated terms saturate, and how much long documents are discounted. */
const saturation = 1.2
const lengthDiscount = 0.75
/** Further distinct terms of a query are ignored. */
const maxTerms = 1000

interface DocumentCounts {
  length: number
  /** Occurrences of the query's terms. */
  terms: Map<string, number>
}

/** BM25 scores of the documents, in their order, each as its share of the highest score possible: 0 to 1. */
export async function rankDocuments(query: string, documents: readonly string[]): Promise<number[]> {
  return runInSlices(scoreDocuments(query, documents))
}

function* scoreDocuments(query: string, documents: readonly string[]): Generator<undefined, number[]> {
  const terms = new Set<string>()
  for (const words of splitWords(query)) {
    for (const word of words) if (terms.size < maxTerms) terms.add(word)
    yield
  }
  const counts: DocumentCounts[] = []
  for (const document of documents) counts.push(yield* countTerms(document, terms))
  const weights = weighTerms(terms, counts)
  const best = weights.values().reduce((sum, weight) => sum + weight * (saturation + 1), 0)
  const averageLength = counts.reduce((sum, { length }) => sum + length, 0) / Math.max(1, counts.length)
  const scores: number[] = []
  for (const count of counts) {
    scores.push(best === 0 ? 0 : scoreDocument(count, weights, averageLength) / best)
    yield
  }
  return scores
}

function* countTerms(document: string, terms: ReadonlySet<string>): Generator<undefined, DocumentCounts> {
  const counts: DocumentCounts = { length: 0, terms: new Map() }
  for (const words of splitWords(document)) {
    counts.length += words.length
    for (const word of words) {
      if (terms.has(word)) counts.terms.set(word, (counts.terms.get(word) ?? 0) + 1)
    }
    yield
  }
  return counts
}

/** Inverse document frequency: a term in every document says little. */
function weighTerms(terms: ReadonlySet<string>, counts: readonly DocumentCounts[]): Map<string, number> {
  const containing = new Map<string, number>()
  for (const { terms: found } of counts) {
    for (const term of found.keys()) containing.set(term, (containing.get(term) ?? 0) + 1)
  }
  const weights = new Map<string, number>()
  for (const term of terms) {
    const documents = containing.get(term) ?? 0
    weights.set(term, Math.log(1 + (counts.length - documents + 0.5) / (documents + 0.5)))
  }
  return weights
}

function scoreDocument(
  { length, terms }: DocumentCounts,
  weights: ReadonlyMap<string, number>,
  averageLength: number,
): number {
  const relativeLength = averageLength === 0 ? 1 : length / averageLength
  const discount = saturation * (1 - lengthDiscount + lengthDiscount * relativeLength)
  let score = 0
  for (const [term, count] of terms) {
    score += ((weights.get(term) ?? 0) * count * (saturation + 1)) / (count + discount)
  }
  return score
}
