import type { Db } from '../platform/db/db.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import type { ApiKey } from './keys.ts'

export type KeyChanges = Partial<
  Pick<
    ApiKey,
    | 'name'
    | 'disabled'
    | 'limit_nanos'
    | 'limit_reset'
    | 'include_byok_in_limit'
    | 'tier'
    | 'tag_rules'
    | 'priority'
    | 'max_priority'
  >
>

/** Locks a key, like `tryLockWorkspace`: undefined once it is deleted. */
export async function lockKey(tx: Db, organizationId: string, hash: string): Promise<ApiKey | undefined> {
  return tx
    .updateTable('api_keys')
    .set((eb) => ({ name: eb.ref('name') }))
    .where('organization_id', '=', organizationId)
    .where('hash', '=', hash)
    .returningAll()
    .executeTakeFirst()
}

export async function updateKey(db: Db, clock: Clock, id: number, changes: KeyChanges): Promise<ApiKey> {
  return db
    .updateTable('api_keys')
    .set({ ...changes, updated_at: isoNow(clock) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}
