import type { Db } from '../../db/db.ts'
import { type Fact, factColumns } from './facts.ts'

/** Later than any time there is. */
export const always = '~'

/** The generations that ended after `from` and up to `to`. */
export interface Slice {
  from: string
  to: string
}

/** One instant is never split, however many ended in it. Null when nothing ended since. */
export async function nextSlice(db: Db, from: string, until: string, size: number): Promise<Slice | null> {
  const ended = (offset: number) =>
    db
      .selectFrom('generations')
      .select('ended_at')
      .where('ended_at', '>', from)
      .where('ended_at', '<=', until)
      .orderBy('ended_at')
      .limit(1)
      .offset(offset)
      .executeTakeFirst()
  const last = await ended(size - 1)
  if (last) return { from, to: last.ended_at }
  return (await ended(0)) ? { from, to: until } : null
}

export async function readSlice(db: Db, { from, to }: Slice): Promise<Fact[]> {
  return db
    .selectFrom('generations')
    .select(factColumns)
    .where('ended_at', '>', from)
    .where('ended_at', '<=', to)
    .execute()
}

export interface Scope {
  organizationId: string
  /** When they began; the end is no part of it. */
  from: string
  to: string
}

/** Only these columns of them: the others are not there. */
export async function readSliceOf(
  db: Db,
  { from, to }: Slice,
  scope: Scope,
  columns: (keyof Fact)[],
): Promise<Fact[]> {
  return db
    .selectFrom('generations')
    .select(columns)
    .where('ended_at', '>', from)
    .where('ended_at', '<=', to)
    .where('organization_id', '=', scope.organizationId)
    .where('created_at', '>=', scope.from)
    .where('created_at', '<', scope.to)
    .execute()
}

export async function readByIds(db: Db, ids: readonly string[], scope: Scope): Promise<Fact[]> {
  return db
    .selectFrom('generations')
    .select(factColumns)
    .where('id', 'in', ids)
    .where('organization_id', '=', scope.organizationId)
    .where('created_at', '>=', scope.from)
    .where('created_at', '<', scope.to)
    .execute()
}

/** As `nextSlice`, from the newest backwards; an instant is not split either. */
export async function previousSlice(
  db: Db,
  since: string,
  until: string,
  size: number,
): Promise<Slice | null> {
  const ended = (offset: number) =>
    db
      .selectFrom('generations')
      .select('ended_at')
      .where('ended_at', '>', since)
      .where('ended_at', '<=', until)
      .orderBy('ended_at', 'desc')
      .limit(1)
      .offset(offset)
      .executeTakeFirst()
  const first = await ended(size)
  if (first) return { from: first.ended_at, to: until }
  return (await ended(0)) ? { from: since, to: until } : null
}
