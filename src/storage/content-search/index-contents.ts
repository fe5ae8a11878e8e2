import type { Gateway } from '../../gateway/gateway.ts'
import type { RunResult } from '../../platform/concurrency/repeated-task.ts'
import { runInSlices } from '../../platform/time/time-slicer.ts'
import { PackReader } from '../content-packs.ts'
import { type IndexedContent, insertIndexed, mergeIndex, readUnindexed } from './search-store.ts'
import { WordHasher } from './word-hasher.ts'
import { collectTerms } from './words.ts'

type IndexContext = Pick<Gateway, 'db' | 'vault' | 'settings'>
type UnindexedRow = Awaited<ReturnType<typeof readUnindexed>>[number]

/** Contents that are read at once: few, because each can be a megabyte. */
const batchSize = 16
/** Words of one transaction, which other writers wait for. */
const maxWordsPerTransaction = 1000
/** One run of the job ends after this time, and the next one continues. */
const runMs = 40_000

/** Indexes what was logged since, the newest first, and what was logged before there was an index. */
export async function indexContents(context: IndexContext, maxMs = runMs): Promise<RunResult> {
  const end = performance.now() + maxMs
  const indexer = new ContentIndexer(context)
  let indexed = 0
  for (;;) {
    const batch = await indexer.indexBatch()
    indexed += batch
    if (batch < batchSize) return indexed > 0 ? 'busy' : 'idle'
    if (performance.now() > end) return 'busy'
  }
}

class ContentIndexer {
  readonly #context: IndexContext
  readonly #hasher: WordHasher
  readonly #packs: PackReader

  constructor(context: IndexContext) {
    this.#context = context
    this.#hasher = new WordHasher(context.vault)
    this.#packs = new PackReader(context)
  }

  /** Returns how many. A failure to read one, for example from the bucket, is thrown after the others are indexed. */
  async indexBatch(): Promise<number> {
    const rows = await readUnindexed(this.#context.db, batchSize)
    const failures: unknown[] = []
    let waiting: IndexedContent[] = []
    let words = 0
    for (const row of rows) {
      try {
        const hashes = await this.#hashContent(row)
        waiting.push({ created_at: row.created_at, generation_id: row.generation_id, hashes })
        words += hashes.length
      } catch (error) {
        failures.push(error)
      }
      if (words < maxWordsPerTransaction) continue
      await this.#insert(waiting)
      waiting = []
      words = 0
    }
    await this.#insert(waiting)
    if (failures.length > 0) throw failures[0]
    return rows.length
  }

  async #hashContent(row: UnindexedRow): Promise<readonly number[]> {
    const { generation_id, organization_id, created_at } = row
    const sealed = await this.#packs.read(row)
    if (sealed === null) return []
    const content = this.#open(sealed, generation_id)
    const terms = await runInSlices(collectTerms(content))
    return runInSlices(this.#hasher.hash(organization_id, created_at.slice(0, 10), terms))
  }

  /** Null for a content that cannot be decrypted, and is not found then. */
  #open(sealed: string, id: string): unknown {
    try {
      return JSON.parse(this.#context.vault.decrypt(sealed, id))
    } catch {
      return null
    }
  }

  async #insert(contents: readonly IndexedContent[]): Promise<void> {
    if (contents.length === 0) return
    const { db } = this.#context
    await db.transaction().execute((tx) => insertIndexed(tx, contents))
    await mergeIndex(db)
  }
}
