import type { Selectable } from 'kysely'
import { assertWithinCeiling } from '../../identity/ceilings.ts'
import { sha256 } from '../../platform/crypto/crypto.ts'
import { newId } from '../../platform/crypto/ids.ts'
import type { Db } from '../../platform/db/db.ts'
import { fetchPage, type RowPage } from '../../platform/db/page.ts'
import type { ErasureTable } from '../../platform/db/schema.ts'
import { isoNow } from '../../platform/time/clock.ts'
import type { Pagination } from '../../platform/validation/query-params.ts'
import type { Gateway } from '../gateway.ts'
import { type ErasedCounts, type ErasureProgress, firstProgress } from './erasure.ts'

export type Erasure = Selectable<ErasureTable>

/** Longer than most slices take. It only saves double work: a slice of a node that has lost it changes nothing. */
const leaseMs = 30_000

export async function insertErasure(
  tx: Db,
  { clock, vault, settings }: Pick<Gateway, 'clock' | 'vault' | 'settings'>,
  { organizationId, name, requestedBy }: { organizationId: string; name: string; requestedBy: object },
): Promise<Erasure> {
  const id = newId('erase')
  const now = isoNow(clock)
  const row = await tx
    .insertInto('erasures')
    .values({
      id,
      organization_id: organizationId,
      end_user_hash: sha256(name),
      sealed_end_user: vault.encrypt(name, id),
      pseudonym: newId('erased'),
      requested_by: JSON.stringify(requestedBy),
      requested_at: now,
      counts: '{}',
      progress: JSON.stringify(firstProgress),
      due_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  await assertWithinCeiling(tx, settings.ceilings, 'erasures', organizationId)
  return row
}

export function findErasure(db: Db, organizationId: string, id: string): Promise<Erasure | undefined> {
  return db
    .selectFrom('erasures')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
}

/** The newest first. */
export function listErasures(
  db: Db,
  { organizationId, hash }: { organizationId: string; hash: string | undefined },
  page: Pagination,
): Promise<RowPage<Erasure>> {
  const query = db
    .selectFrom('erasures')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .$if(hash !== undefined, (some) => some.where('end_user_hash', '=', hash ?? ''))
  return fetchPage(query, page, ['requested_at', 'id'])
}

/** Takes the oldest that is due; another node cannot work on it until the lease ends. */
export async function takeDueErasure(
  db: Db,
  { owner, now }: { owner: string; now: number },
): Promise<Erasure | undefined> {
  const at = new Date(now).toISOString()
  const lease = { lease_owner: owner, lease_until: new Date(now + leaseMs).toISOString() }
  const due = await db
    .selectFrom('erasures')
    .select('id')
    .where('due_at', '<=', at)
    .where((eb) => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<', at)]))
    .orderBy('due_at')
    .limit(1)
    .executeTakeFirst()
  if (!due) return undefined
  return db
    .updateTable('erasures')
    .set(lease)
    .where('id', '=', due.id)
    .where('due_at', '<=', at)
    .where((eb) => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<', at)]))
    .returningAll()
    .executeTakeFirst()
}

/** With a time at which it is due again, after a failure. */
export async function releaseErasure(
  db: Db,
  { id, owner }: { id: string; owner: string },
  dueAt?: string,
): Promise<void> {
  await db
    .updateTable('erasures')
    .set({ lease_owner: null, lease_until: null, ...(dueAt !== undefined && { due_at: dueAt }) })
    .where('id', '=', id)
    .where('lease_owner', '=', owner)
    .execute()
}

export class LeaseLostError extends Error {}

/** What a slice has done, written in its transaction: a slice that is interrupted is done again as a whole. */
export async function saveErasure(
  tx: Db,
  { id, owner, now }: { id: string; owner: string; now: number },
  change: {
    progress: ErasureProgress
    counts: ErasedCounts
    due_at?: string | null
    completed_at?: string
    sealed_end_user?: null
  },
): Promise<void> {
  const { progress, counts, ...rest } = change
  const { numUpdatedRows } = await tx
    .updateTable('erasures')
    .set({
      ...rest,
      progress: JSON.stringify(progress),
      counts: JSON.stringify(counts),
      lease_until: new Date(now + leaseMs).toISOString(),
    })
    .where('id', '=', id)
    .where('lease_owner', '=', owner)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw new LeaseLostError('another node works on the erasure')
}

/** A pass of an erasure over the records, which is done. */
export interface ErasedPass {
  id: string
  pass: number
  organizationId: string
  pseudonym: string
}

/** The last passes of erasures that were requested since a time. */
export async function listErasedSince(db: Db, since: string): Promise<ErasedPass[]> {
  const rows = await db
    .selectFrom('erasures')
    .select(['id', 'organization_id', 'pseudonym', 'progress'])
    .where('requested_at', '>', since)
    .orderBy('requested_at')
    .execute()
  return rows.flatMap(({ id, organization_id, pseudonym, progress }) => {
    const { passes, step } = JSON.parse(progress) as ErasureProgress
    const pass = step === 'records' ? passes : passes + 1
    return pass === 0 ? [] : [{ id, pass, organizationId: organization_id, pseudonym }]
  })
}

/** Which of these generations have the pseudonym. */
export async function findErased(
  db: Db,
  organizationId: string,
  pseudonym: string,
  ids: readonly string[],
): Promise<string[]> {
  const rows = await db
    .selectFrom('generations')
    .select('id')
    .where('id', 'in', ids)
    .where('organization_id', '=', organizationId)
    .where('external_user', '=', pseudonym)
    .execute()
  return rows.map(({ id }) => id)
}

export async function countCachedReplies(db: Db, id: string, count: number): Promise<void> {
  await db
    .updateTable('erasures')
    .set((eb) => ({ cached_replies: eb('cached_replies', '+', count) }))
    .where('id', '=', id)
    .execute()
}
