import { type Selectable, sql } from 'kysely'
import type { Vault } from '../../platform/crypto/crypto.ts'
import type { Db } from '../../platform/db/db.ts'
import type { AuditChainTable } from '../../platform/db/schema.ts'
import { anchorChain, firstHash, signHead, signStart } from './chain.ts'
import type { AuditEntry, OwnedSecret, SecretOwner } from './entry.ts'

export type AuditChain = Selectable<AuditChainTable>

export type ChainHead = Pick<AuditChain, 'chain_id' | 'seq' | 'hash'>

/** The first entry of a chain that has not been deleted, and the hash before it. */
export type ChainStart = Pick<AuditChain, 'chain_id' | 'first_seq' | 'first_hash'>

/** The head of a chain, locked until the transaction ends. */
export async function lockChain(tx: Db, chainId: string): Promise<ChainHead> {
  return tx
    .insertInto('audit_chains')
    .values({ chain_id: chainId, seq: 0, hash: firstHash, signature: '' })
    .onConflict((conflict) =>
      conflict.column('chain_id').doUpdateSet((eb) => ({ seq: eb.ref('audit_chains.seq') })),
    )
    .returning(['chain_id', 'seq', 'hash'])
    .executeTakeFirstOrThrow()
}

/** Entries per statement: well below the number of parameters that either database accepts. */
const entriesPerStatement = 500

export async function insertEntries(tx: Db, entries: AuditEntry[]): Promise<void> {
  for (let start = 0; start < entries.length; start += entriesPerStatement) {
    const part = entries.slice(start, start + entriesPerStatement)
    await tx.insertInto('audit_entries').values(part).execute()
  }
}

export async function updateChain(tx: Db, vault: Vault, head: ChainHead): Promise<void> {
  await tx
    .updateTable('audit_chains')
    .set({ seq: head.seq, hash: head.hash, signature: signHead(vault, head) })
    .where('chain_id', '=', head.chain_id)
    .execute()
}

/** Deletes what is before the new start of a chain. Its head must be locked. */
export async function deletePrefix(tx: Db, vault: Vault, start: ChainStart): Promise<void> {
  await tx
    .deleteFrom('audit_entries')
    .where('chain_id', '=', start.chain_id)
    .where('seq', '<', start.first_seq)
    .execute()
  await tx
    .updateTable('audit_chains')
    .set({
      first_seq: start.first_seq,
      first_hash: start.first_hash,
      first_signature: signStart(vault, start),
    })
    .where('chain_id', '=', start.chain_id)
    .execute()
}

export async function findChain(db: Db, chainId: string): Promise<AuditChain | undefined> {
  return db.selectFrom('audit_chains').selectAll().where('chain_id', '=', chainId).executeTakeFirst()
}

/** Lists chains in pages: an installation may have many organizations. */
export async function listChainIds(db: Db, after: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('audit_chains')
    .select('chain_id')
    .where('chain_id', '>', after)
    .orderBy('chain_id')
    .limit(limit)
    .execute()
  return rows.map(({ chain_id }) => chain_id)
}

/** The heads of chains that are not recorded in the chain of anchors. */
export async function listUnanchoredHeads(db: Db, limit: number): Promise<ChainHead[]> {
  return db
    .selectFrom('audit_chains')
    .leftJoin('audit_anchors', 'audit_anchors.chain_id', 'audit_chains.chain_id')
    .select(['audit_chains.chain_id', 'audit_chains.seq', 'audit_chains.hash'])
    .where('audit_chains.chain_id', '!=', anchorChain)
    .where('audit_chains.seq', '>', 0)
    .where((eb) =>
      eb.or([eb('audit_anchors.seq', 'is', null), eb('audit_anchors.seq', '!=', eb.ref('audit_chains.seq'))]),
    )
    .orderBy('audit_chains.chain_id')
    .limit(limit)
    .execute()
}

export async function saveAnchors(tx: Db, heads: readonly ChainHead[]): Promise<void> {
  await tx
    .insertInto('audit_anchors')
    .values(heads.map(({ chain_id, seq }) => ({ chain_id, seq })))
    .onConflict((conflict) =>
      conflict.column('chain_id').doUpdateSet((eb) => ({ seq: eb.ref('excluded.seq') })),
    )
    .execute()
}

/** Deletes anchors so that heads are recorded again, unless a later one of their chain is recorded. */
export async function forgetAnchors(tx: Db, heads: readonly ChainHead[]): Promise<void> {
  for (const { chain_id, seq } of heads)
    await tx.deleteFrom('audit_anchors').where('chain_id', '=', chain_id).where('seq', '=', seq).execute()
}

/** The hashes of entries of any chains, by `chain:seq`. */
export async function findHashes(
  db: Db,
  entries: readonly Pick<ChainHead, 'chain_id' | 'seq'>[],
): Promise<Map<string, string>> {
  const values = entries.map(({ chain_id, seq }) => sql`(${chain_id}, cast(${seq} as integer))`)
  const rows = await db
    .selectFrom('audit_entries')
    .select(['chain_id', 'seq', 'hash'])
    .where(sql<boolean>`(chain_id, seq) in (values ${sql.join(values)})`)
    .execute()
  return new Map(rows.map(({ chain_id, seq, hash }) => [`${chain_id}:${seq}`, hash]))
}

/** Entries whose chain has no head, which only a manipulation leaves behind. */
export async function findHeadlessChain(db: Db): Promise<string | undefined> {
  // Steps from chain to chain through the primary key, instead of reading all entries.
  for (let after = ''; ; ) {
    const next = await db
      .selectFrom('audit_entries')
      .select('chain_id')
      .where('chain_id', '>', after)
      .orderBy('chain_id')
      .limit(1)
      .executeTakeFirst()
    if (!next) return undefined
    if (!(await findChain(db, next.chain_id))) return next.chain_id
    after = next.chain_id
  }
}

/** The next entries of a chain, in its order. */
export async function readEntriesAfter(
  db: Db,
  chainId: string,
  seq: number,
  limit: number,
): Promise<AuditEntry[]> {
  return db
    .selectFrom('audit_entries')
    .selectAll()
    .where('chain_id', '=', chainId)
    .where('seq', '>', seq)
    .orderBy('seq')
    .limit(limit)
    .execute()
}

export async function findEntry(db: Db, chainId: string, seq: number): Promise<AuditEntry | undefined> {
  return db
    .selectFrom('audit_entries')
    .selectAll()
    .where('chain_id', '=', chainId)
    .where('seq', '=', seq)
    .executeTakeFirst()
}

type Filter =
  | 'id'
  | 'request_id'
  | 'target_id'
  | 'actor_id'
  | 'workspace_id'
  | 'target_type'
  | 'actor_type'
  | 'outcome'

export interface AuditSelection extends Partial<Record<Filter, string | undefined>> {
  chainId: string
  /** An entry has one of these. */
  action?: readonly string[] | undefined
  /** Times in the precision of the entries; `to` is exclusive. */
  from: string | null
  to: string | null
}

/** Each has an index, in the order of how few entries it usually leaves. */
const indexedFilters = ['id', 'request_id', 'target_id', 'actor_id', 'action', 'workspace_id'] as const
const otherFilters = ['target_type', 'actor_type', 'outcome'] as const

export interface EntryPosition {
  created_at: string
  seq: number
}

/** Takes about two milliseconds. */
const batchSize = 500

/**
 * The entries of a chain that may match, newest first, in batches: those of one index. `matchesSelection` decides, so
 * that no combination of filters makes the database search for long.
 */
export async function* walkEntries(
  db: Db,
  selection: AuditSelection,
  start: EntryPosition | null,
): AsyncGenerator<AuditEntry[]> {
  for (let after = start; ; ) {
    const batch = await readBatch(db, selection, after)
    yield batch
    after = batch.at(-1) ?? null
    if (batch.length < batchSize) return
  }
}

async function readBatch(
  db: Db,
  selection: AuditSelection,
  after: EntryPosition | null,
): Promise<AuditEntry[]> {
  const filter = indexedFilters.find((name) => selection[name] !== undefined)
  if (!filter) return readIndex(db, selection, { after })
  const values = [selection[filter] ?? []].flat()
  const batches: AuditEntry[][] = []
  for (const value of values) batches.push(await readIndex(db, selection, { after, filter, value }))
  return values.length === 1 ? batches.flat() : batches.flat().sort(compareNewestFirst).slice(0, batchSize)
}

function compareNewestFirst(a: EntryPosition, b: EntryPosition): number {
  if (a.created_at === b.created_at) return b.seq - a.seq
  return a.created_at < b.created_at ? 1 : -1
}

interface IndexRange {
  after: EntryPosition | null
  filter?: (typeof indexedFilters)[number]
  value?: string
}

/** The next entries of one value of an index, or of all by their time. */
function readIndex(
  db: Db,
  { chainId, from, to }: AuditSelection,
  { after, filter, value = '' }: IndexRange,
): Promise<AuditEntry[]> {
  return db
    .selectFrom('audit_entries')
    .selectAll()
    .where('chain_id', '=', chainId)
    .$if(filter !== undefined, (query) => query.where(filter ?? 'action', '=', value))
    .$if(from !== null, (query) => query.where('created_at', '>=', from ?? ''))
    .$if(to !== null, (query) => query.where('created_at', '<', to ?? ''))
    .$if(after !== null, (query) =>
      query.where(sql<boolean>`(created_at, seq) < (${after?.created_at}, ${after?.seq})`),
    )
    .orderBy('created_at', 'desc')
    .orderBy('seq', 'desc')
    .limit(batchSize)
    .execute()
}

export function matchesSelection(selection: AuditSelection, entry: AuditEntry): boolean {
  return [...indexedFilters, ...otherFilters].every((name) => {
    const wanted = selection[name]
    return wanted === undefined || [wanted].flat().some((value) => value === entry[name])
  })
}

/** Undefined once its record is deleted. */
export async function findSecretOwner(
  db: Db,
  type: OwnedSecret,
  id: string,
): Promise<SecretOwner | undefined> {
  const row = await findSecretRecord(db, type, id)
  return row && { organizationId: row.organization_id, workspaceId: row.workspace_id, name: row.name }
}

function findSecretRecord(db: Db, type: OwnedSecret, id: string) {
  const columns = ['organization_id', 'workspace_id', 'name'] as const
  if (type === 'byok_key')
    return db.selectFrom('byok_keys').select(columns).where('id', '=', id).executeTakeFirst()
  if (type === 'destination')
    return db.selectFrom('destinations').select(columns).where('id', '=', id).executeTakeFirst()
  const table = type === 'video_secret' ? 'workspaces' : 'audit_destinations'
  const workspaceId = type === 'video_secret' ? sql<string | null>`id` : sql<string | null>`null`
  return db
    .selectFrom(table)
    .select(['organization_id', 'name'])
    .select(workspaceId.as('workspace_id'))
    .where('id', '=', id)
    .executeTakeFirst()
}
