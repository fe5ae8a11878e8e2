// Logged prompts of seeded generations, with the index of their words.
import { sql } from 'kysely'
import type { Gateway } from '../../src/gateway/gateway.ts'
import type { Db } from '../../src/platform/db/db.ts'
import { runInSlices } from '../../src/platform/time/time-slicer.ts'
import {
  type IndexedContent,
  insertIndexed,
  mergeIndex,
} from '../../src/storage/content-search/search-store.ts'
import { WordHasher } from '../../src/storage/content-search/word-hasher.ts'
import { collectTerms } from '../../src/storage/content-search/words.ts'
import { seededRandom } from './random.ts'

type Vault = Gateway['vault']

/** Different words of all prompts. */
const vocabulary = 20_000
/** Words of a prompt, and of its reply. */
const length = 60
/** Generations that are read at once. */
const batchSize = 5000
/** The index is merged after each, as it is after a thousand words of real prompts. */
const contentsPerTransaction = 15

/** A word by its rank: the first is in almost every prompt, and a thousand times as frequent as the thousandth. */
export function wordOf(rank: number): string {
  return `word${rank.toString(36)}`
}

interface Generation {
  id: string
  created_at: string
  workspace_id: string
}

/** Logs a prompt for one in `every` generations of an organization, the oldest first. Returns how many. */
export async function seedLoggedPrompts(
  db: Db,
  vault: Vault,
  { organizationId, every }: { organizationId: string; every: number },
): Promise<number> {
  const logger = new PromptLogger(db, vault, organizationId)
  let count = 0
  for (let after = { created_at: '', id: '' }; ; ) {
    const rows = await db
      .selectFrom('generations')
      .select(['id', 'created_at', 'workspace_id'])
      .where('organization_id', '=', organizationId)
      .where(sql<boolean>`(created_at, id) > (${after.created_at}, ${after.id})`)
      .orderBy('created_at')
      .orderBy('id')
      .limit(batchSize)
      .execute()
    const logged = rows.filter(({ id }) => Number.parseInt(id.slice(-6), 16) % every === 0)
    for (let at = 0; at < logged.length; at += contentsPerTransaction)
      await logger.insert(logged.slice(at, at + contentsPerTransaction))
    count += logged.length
    const last = rows.at(-1)
    if (!last || rows.length < batchSize) return count
    after = last
  }
}

class PromptLogger {
  readonly #db: Db
  readonly #vault: Vault
  readonly #organizationId: string
  readonly #hasher: WordHasher
  readonly #random = seededRandom(1)

  constructor(db: Db, vault: Vault, organizationId: string) {
    this.#db = db
    this.#vault = vault
    this.#organizationId = organizationId
    this.#hasher = new WordHasher(vault)
  }

  async insert(generations: readonly Generation[]): Promise<void> {
    const organization_id = this.#organizationId
    const contents = generations.map((generation) => ({ generation, content: this.#createContent() }))
    const indexed: IndexedContent[] = []
    for (const { generation, content } of contents)
      indexed.push({
        ...{ created_at: generation.created_at, generation_id: generation.id },
        hashes: await this.#hash(generation.created_at, content),
      })
    const rows = contents.map(({ generation: { id, created_at, workspace_id }, content }) => ({
      ...{ generation_id: id, organization_id, workspace_id, created_at },
      sealed_content: this.#vault.encrypt(JSON.stringify(content), id),
    }))
    await this.#db.transaction().execute(async (tx) => {
      await tx.insertInto('generation_contents').values(rows).execute()
      await insertIndexed(tx, indexed)
    })
    await mergeIndex(this.#db)
  }

  async #hash(createdAt: string, content: object): Promise<readonly number[]> {
    const terms = await runInSlices(collectTerms(content))
    return runInSlices(this.#hasher.hash(this.#organizationId, createdAt.slice(0, 10), terms))
  }

  #createContent() {
    return {
      input: { messages: [{ role: 'user', content: this.#createText() }] },
      output: { completion: this.#createText(), reasoning: null, tool_calls: [] },
      error: null,
      truncated: false,
    }
  }

  /** Frequencies as in a language: the word of rank n is n times as rare as the first. */
  #createText(): string {
    return Array.from({ length }, () => wordOf(Math.floor(vocabulary ** this.#random()))).join(' ')
  }
}
