import { type Selectable, sql } from 'kysely'
import { isVisibleTo, type RecordReader } from '../../../identity/shared-records.ts'
import type { Vault } from '../../../platform/crypto/crypto.ts'
import type { Db } from '../../../platform/db/db.ts'
import { fetchPage, type RowPage } from '../../../platform/db/page.ts'
import type {
  ComparisonReplyTable,
  ComparisonTable,
  ComparisonVoteTable,
} from '../../../platform/db/schema.ts'
import { TimeSlicer } from '../../../platform/time/time-slicer.ts'
import type { Pagination } from '../../../platform/validation/query-params.ts'

export type ComparisonRow = Omit<Selectable<ComparisonTable>, 'sealed_prompts'>

/** Where a vote is. */
export type Place = Pick<Selectable<ComparisonVoteTable>, 'prompt' | 'model'>

/** Votes of everyone, counted, and those of one voter. */
export interface Votes {
  counts: (Place & { count: number })[]
  own: Place[]
}

export interface ComparisonContent {
  prompts: string[]
  parameters: Record<string, unknown>
}

export interface ReplyContent {
  text: string
  is_shortened?: boolean | undefined
  error?: string | null | undefined
}

export type StoredReply = Omit<Selectable<ComparisonReplyTable>, 'comparison_id' | 'sealed_reply'> & {
  content: ReplyContent
}

type Reader = { db: Db; vault: Vault }

const columns = [
  'id',
  'organization_id',
  'workspace_id',
  'visibility',
  'creator',
  'name',
  'models',
  'prompt_count',
  'is_blind',
  'created_at',
  'updated_at',
] as const satisfies (keyof ComparisonRow)[]

const figures = [
  'prompt',
  'model',
  'generation_id',
  'provider',
  'has_error',
  'cost_nanos',
  'first_token_ms',
  'latency_ms',
] as const

export function listComparisons(
  db: Db,
  reader: RecordReader,
  page: Pagination,
): Promise<RowPage<ComparisonRow>> {
  const all = db.selectFrom('comparisons').select(columns).where(isVisibleTo(reader))
  return fetchPage(all, page, ['created_at', 'id'], 'desc')
}

export function findComparison(db: Db, reader: RecordReader, id: string): Promise<ComparisonRow | undefined> {
  return db
    .selectFrom('comparisons')
    .select(columns)
    .where(isVisibleTo(reader))
    .where('id', '=', id)
    .executeTakeFirst()
}

/** The prompts and replies of a comparison; null if it was deleted meanwhile. */
export async function readContents({ db, vault }: Reader, id: string) {
  const [sealed, rows] = await Promise.all([
    db.selectFrom('comparisons').select('sealed_prompts').where('id', '=', id).executeTakeFirst(),
    db
      .selectFrom('comparison_replies')
      .select([...figures, 'sealed_reply'])
      .where('comparison_id', '=', id)
      .orderBy('prompt')
      .orderBy('model')
      .execute(),
  ])
  if (!sealed) return null
  const content = JSON.parse(vault.decrypt(sealed.sealed_prompts, id)) as ComparisonContent
  const decrypted = rows.values().map(({ sealed_reply, ...row }): StoredReply => {
    const text = vault.decrypt(sealed_reply, contextOf(id, row))
    return { ...row, content: JSON.parse(text) as ReplyContent }
  })
  const replies = await Array.fromAsync(new TimeSlicer().iterate(decrypted))
  return { content, replies }
}

export async function insertComparison(
  { db, vault }: Reader,
  row: ComparisonRow,
  { prompts, parameters }: ComparisonContent,
  replies: readonly StoredReply[],
): Promise<void> {
  const { id } = row
  const sealed = vault.encrypt(JSON.stringify({ prompts, parameters }), id)
  await db
    .insertInto('comparisons')
    .values({ ...row, sealed_prompts: sealed })
    .execute()
  const encrypted = replies.values().map(({ content, ...reply }) => ({
    ...reply,
    comparison_id: id,
    sealed_reply: vault.encrypt(JSON.stringify(content), contextOf(id, reply)),
  }))
  const rows = await Array.fromAsync(new TimeSlicer().iterate(encrypted))
  for (let at = 0; at < rows.length; at += rowsPerStatement)
    await db
      .insertInto('comparison_replies')
      .values(rows.slice(at, at + rowsPerStatement))
      .execute()
}

const rowsPerStatement = 100

/** Binds a reply to its place. */
function contextOf(id: string, { prompt, model }: Place): string {
  return `${id} ${prompt} ${model}`
}

export async function saveComparison(
  tx: Db,
  { id, name, visibility, workspace_id, updated_at }: ComparisonRow,
): Promise<void> {
  await tx
    .updateTable('comparisons')
    .set({ name, visibility, workspace_id, updated_at })
    .where('id', '=', id)
    .execute()
}

/** Its replies and votes are deleted with it. */
export async function deleteComparison(tx: Db, id: string): Promise<void> {
  await tx.deleteFrom('comparisons').where('id', '=', id).execute()
}

export function listFigures(db: Db, id: string) {
  return db.selectFrom('comparison_replies').select(figures).where('comparison_id', '=', id).execute()
}

export async function readVotes(db: Db, id: string, voter: string): Promise<Votes> {
  const all = db
    .selectFrom('comparison_votes')
    .select(['prompt', 'model'])
    .where('comparison_id', '=', id)
    .orderBy('prompt')
    .orderBy('model')
  const [counts, own] = await Promise.all([
    all
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .groupBy(['prompt', 'model'])
      .execute(),
    all.where('voter', '=', voter).execute(),
  ])
  return { counts: counts.map(({ count, ...place }) => ({ ...place, count: Number(count) })), own }
}

export async function hasReply(db: Db, id: string, { prompt, model }: Place): Promise<boolean> {
  const row = await db
    .selectFrom('comparison_replies')
    .select('prompt')
    .where('comparison_id', '=', id)
    .where('prompt', '=', prompt)
    .where('model', '=', model)
    .where('has_error', '=', 0)
    .executeTakeFirst()
  return row !== undefined
}

export async function saveVote(db: Db, vote: Selectable<ComparisonVoteTable>): Promise<void> {
  const { model, created_at } = vote
  await db
    .insertInto('comparison_votes')
    .values(vote)
    .onConflict((conflict) =>
      conflict.columns(['comparison_id', 'prompt', 'voter']).doUpdateSet({ model, created_at }),
    )
    .execute()
}

export async function deleteVote(db: Db, id: string, prompt: number, voter: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('comparison_votes')
    .where('comparison_id', '=', id)
    .where('prompt', '=', prompt)
    .where('voter', '=', voter)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** What the generations of replies cost and how long they took, by their ids. */
export async function readGenerations(db: Db, organizationId: string, ids: readonly string[]) {
  if (ids.length === 0) return new Map<string, GenerationFigures>()
  const [rows, nested] = await Promise.all([
    db
      .selectFrom('generations')
      .select(['id', 'workspace_id', 'user_id', 'provider', 'cost_nanos', 'upstream_cost_nanos', 'is_byok'])
      .select(['first_token_ms', 'latency_ms'])
      .where('organization_id', '=', organizationId)
      .where('id', 'in', ids)
      .execute(),
    db
      .selectFrom('generation_lines')
      .select(['generation_id', sql<bigint | number | string>`sum(cost_nanos)`.as('cost')])
      .where('kind', '=', 'request')
      .where('generation_id', 'in', ids)
      .groupBy('generation_id')
      .execute(),
  ])
  const nestedCosts = new Map(nested.map(({ generation_id, cost }) => [generation_id, BigInt(cost)]))
  return new Map(rows.map((row) => [row.id, toFigures(row, nestedCosts.get(row.id) ?? 0n)]))
}

interface GenerationFigures extends Pick<StoredReply, 'provider' | 'first_token_ms' | 'latency_ms'> {
  workspaceId: string
  ownerId: string | null
  cost_nanos: bigint
}

function toFigures(
  row: {
    workspace_id: string
    user_id: string | null
    provider: string | null
    cost_nanos: bigint
    upstream_cost_nanos: bigint
    is_byok: number
    first_token_ms: number | null
    latency_ms: number
  },
  nestedCost: bigint,
): GenerationFigures {
  const { provider, first_token_ms, latency_ms } = row
  const paidToProvider = row.is_byok ? row.upstream_cost_nanos : 0n
  return {
    ...{ provider, first_token_ms, latency_ms },
    workspaceId: row.workspace_id,
    ownerId: row.user_id,
    cost_nanos: row.cost_nanos + nestedCost + paidToProvider,
  }
}
