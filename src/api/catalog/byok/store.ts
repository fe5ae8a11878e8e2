import type { Scope } from '../../../identity/permissions/grant.ts'
import { assertReachable } from '../../../identity/placed-records.ts'
import { createSoftDeleteStore } from '../../../identity/soft-delete.ts'
import { fullMask } from '../../../platform/crypto/mask.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { ByokRow } from './record.ts'

export const byokKeys = createSoftDeleteStore('byok_keys', {
  order: ['provider', 'sort_order', 'id'],
  wipe: { disabled: 1, sealed_key: null, label: fullMask },
})

/** The number of keys for a provider and the next sort order. The caller has locked the workspace. */
export async function findNextSortOrder(
  tx: Db,
  workspaceId: string,
  provider: string,
): Promise<{ count: number; sortOrder: number }> {
  const { last, count } = await tx
    .selectFrom('byok_keys')
    .select((eb) => [eb.fn.max('sort_order').as('last'), eb.fn.countAll().as('count')])
    .where('workspace_id', '=', workspaceId)
    .where('provider', '=', provider)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  return { count: Number(count), sortOrder: last === null ? 0 : last + 1 }
}

export function requireReachable(scope: Scope, row: ByokRow | undefined): ByokRow {
  return assertReachable(scope, row, 'BYOK key')
}

/** The keys of a provider in a workspace. As `tryLockWorkspace`: none is changed or deleted meanwhile. */
export function lockKeysOf(tx: Db, workspaceId: string, provider: string): Promise<ByokRow[]> {
  return tx
    .updateTable('byok_keys')
    .set((eb) => ({ updated_at: eb.ref('updated_at') }))
    .where('workspace_id', '=', workspaceId)
    .where('provider', '=', provider)
    .where('deleted_at', 'is', null)
    .returningAll()
    .execute()
}
