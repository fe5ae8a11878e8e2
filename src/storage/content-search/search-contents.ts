import type { Gateway } from '../../gateway/gateway.ts'
import { runInSlices, yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import { PackReader } from '../content-packs.ts'
import type { ContentPosition } from '../stored-contents.ts'
import { findByHashes, findNewestContent, type IndexRange, readSealed } from './search-store.ts'
import { WordHasher } from './word-hasher.ts'
import { hasPhrases, listQueryTerms, type TextQuery } from './words.ts'

export interface ContentSearch {
  organizationId: string
  query: TextQuery
  /** Inclusive. */
  from: string
  before: ContentPosition
}

/** Days whose index is searched for one page. */
const maxDays = 400

/**
 * The contents that have all words of a query, newest first, a few at a time: candidates, whose texts are not compared
 * yet. An empty list says how far the search has come. It ends where there are no more contents.
 */
export async function* walkCandidates(
  { db, vault }: Pick<Gateway, 'db' | 'vault'>,
  { organizationId, query, from, before }: ContentSearch,
  size: number,
): AsyncGenerator<{ candidates: ContentPosition[]; last: ContentPosition; isEnd: boolean }> {
  const hasher = new WordHasher(vault)
  const terms = listQueryTerms(query)
  let position = before
  for (let days = 0; days < maxDays; days++) {
    await yieldToEventLoop()
    const newest = await findNewestContent(db, { organizationId, from, before: position })
    if (!newest) {
      yield { candidates: [], last: position, isEnd: true }
      return
    }
    const day = newest.created_at.slice(0, 10)
    const hashes = await runInSlices(hasher.hash(organizationId, day, terms))
    const start = `${day}T00:00:00.000Z`
    const range: IndexRange = { organizationId, from: start > from ? start : from, before: position }
    for (;;) {
      const candidates = await findByHashes(db, { ...range, before: position }, hashes, size)
      const last = candidates.at(-1)
      if (candidates.length >= size && last) position = last
      else position = { created_at: start, generation_id: '' }
      if (candidates.length > 0) yield { candidates, last: position, isEnd: false }
      if (candidates.length < size) break
    }
  }
  yield { candidates: [], last: position, isEnd: false }
}

/** Compares stored texts with a query. */
export class TextMatcher {
  readonly #gateway: Pick<Gateway, 'db' | 'vault'>
  readonly #packs: PackReader
  readonly #query: TextQuery
  /** Size of what was read, in storage. */
  bytes = 0

  constructor(gateway: Pick<Gateway, 'db' | 'vault' | 'settings'>, query: TextQuery) {
    this.#gateway = gateway
    this.#packs = new PackReader(gateway)
    this.#query = query
  }

  async matches(generationId: string): Promise<boolean> {
    const row = await readSealed(this.#gateway.db, generationId)
    const sealed = row && (await this.#packs.read(row))
    // It expired since it was found.
    if (!sealed) return false
    this.bytes += sealed.length
    const content: unknown = JSON.parse(this.#gateway.vault.decrypt(sealed, generationId))
    return runInSlices(hasPhrases(content, this.#query))
  }
}
