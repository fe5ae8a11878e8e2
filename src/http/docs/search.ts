import { addressOf } from './address.ts'
import type { Document } from './document.ts'

/** Longer queries are cut. */
export const maxQueryLength = 100
const maxWords = 8
const maxResults = 30
const snippetLength = 200
/** Text before what was found. */
const leadLength = 60

export interface SearchResult {
  title: string
  /** Empty at the beginning of the page. */
  heading: string
  address: string
  snippet: string
}

interface Entry {
  page: Document
  heading: string
  anchor: string
  text: string
  /** What is compared, in lower case. */
  titleWords: string
  headingWords: string
  textWords: string
}

/** Weight of a word by where it is found. */
const weights = { title: 6, heading: 5, text: 1 }
/** Weight of all words in their order. */
const phraseWeights = { heading: 5, text: 4 }

interface Query {
  words: string[]
  /** The words in their order, whatever is between them; null for a single word. */
  phrase: RegExp | null
}

/** Finds the sections of pages that have every word of a query. */
export class SearchIndex {
  readonly #entries: Entry[]

  constructor(pages: Iterable<Document>) {
    this.#entries = [...pages].flatMap(listEntries)
  }

  /** The best first. */
  find(text: string): SearchResult[] {
    const query = parseQuery(text)
    if (query.words.length === 0) return []
    return this.#entries
      .map((entry) => ({ entry, score: scoreEntry(entry, query) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, maxResults)
      .map(({ entry: { page, heading, anchor, text, textWords } }) => ({
        title: page.title,
        heading,
        address: addressOf(page.slug, anchor),
        snippet: cutSnippet(text, textWords, query),
      }))
  }
}

function listEntries(page: Document): Entry[] {
  let parent = ''
  return page.sections.map(({ heading, anchor, level, text }) => {
    if (level === 2) parent = heading
    return {
      page,
      heading: level === 1 ? '' : heading,
      anchor: level === 1 ? '' : anchor,
      text,
      titleWords: ` ${page.title.toLowerCase()}`,
      headingWords: ` ${level > 2 ? `${parent} ${heading}`.toLowerCase() : heading.toLowerCase()}`,
      textWords: ` ${text.toLowerCase()}`,
    }
  })
}

/** A plural finds the singular too. */
function parseQuery(text: string): Query {
  const found =
    text
      .slice(0, maxQueryLength)
      .toLowerCase()
      .match(/[\p{L}\p{N}_]+/gu) ?? []
  const stems = found.map((word) => (word.length > 3 ? word.replace(/(?<!s)s$/, '') : word))
  const words = [...new Set(stems)].slice(0, maxWords)
  const phrase = words.length > 1 ? new RegExp(words.join('s?[^\\p{L}\\p{N}_]+'), 'u') : null
  return { words, phrase }
}

/** 0 if a word is missing. */
function scoreEntry({ titleWords, headingWords, textWords }: Entry, { words, phrase }: Query): number {
  let total = 0
  for (const word of words) {
    const score =
      weights.title * scoreWord(titleWords, word) +
      weights.heading * scoreWord(headingWords, word) +
      weights.text * scoreWord(textWords, word)
    if (score === 0) return 0
    total += score
  }
  if (phrase?.test(headingWords)) total += phraseWeights.heading
  if (phrase?.test(textWords)) total += phraseWeights.text
  return total
}

/** The beginning of a word counts twice. */
function scoreWord(text: string, word: string): number {
  if (!text.includes(word)) return 0
  return text.includes(` ${word}`) ? 2 : 1
}

/** The text around the words in their order, or around the first of them. */
function cutSnippet(text: string, textWords: string, { words, phrase }: Query): string {
  const positions = words.map((word) => textWords.indexOf(word)).filter((position) => position >= 0)
  const found = phrase?.exec(textWords)?.index ?? Math.min(...positions)
  const start = found > leadLength && found < text.length ? text.indexOf(' ', found - leadLength) + 1 : 0
  const cut = text.slice(start, start + snippetLength)
  return `${start > 0 ? '… ' : ''}${cut}${start + snippetLength < text.length ? '…' : ''}`
}
