import type { Db } from '../platform/db/db.ts'
import { toFlag } from '../platform/db/values.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import type { Member } from './members.ts'
import { isSsoEnforced } from './sign-in-rules.ts'

export interface SsoPolicy {
  enforced: boolean
  breakGlassUserIds: string[]
}

export async function loadSsoPolicy(db: Db, organizationId: string): Promise<SsoPolicy> {
  return {
    enforced: await isSsoEnforced(db, organizationId),
    breakGlassUserIds: await listBreakGlassUsers(db, organizationId),
  }
}

export async function saveSsoPolicy(
  tx: Db,
  clock: Clock,
  organizationId: string,
  { enforced, breakGlassUserIds }: SsoPolicy,
): Promise<void> {
  const row = { enforced: toFlag(enforced), updated_at: isoNow(clock) }
  await tx
    .insertInto('sso_policies')
    .values({ organization_id: organizationId, ...row })
    .onConflict((conflict) => conflict.column('organization_id').doUpdateSet(row))
    .execute()
  await tx.deleteFrom('sso_break_glass').where('organization_id', '=', organizationId).execute()
  const users = breakGlassUserIds.map((user_id) => ({ user_id, organization_id: organizationId }))
  if (users.length > 0) await tx.insertInto('sso_break_glass').values(users).execute()
}

async function listBreakGlassUsers(db: Db, organizationId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('sso_break_glass')
    .innerJoin('members', 'members.id', 'sso_break_glass.user_id')
    .select('sso_break_glass.user_id')
    .where('sso_break_glass.organization_id', '=', organizationId)
    .where('members.active', '=', 1)
    .where('members.role', '=', 'org:admin')
    .orderBy('sso_break_glass.user_id')
    .execute()
  return rows.map(({ user_id }) => user_id)
}

/**
 * Requires another break-glass admin while single sign-on is enforced: someone must be able to sign in when the
 * provider does not work.
 */
export async function assertAnotherBreakGlass(tx: Db, leaving: Member): Promise<void> {
  const { enforced, breakGlassUserIds } = await loadSsoPolicy(tx, leaving.organization_id)
  if (!enforced || breakGlassUserIds.some((id) => id !== leaving.id)) return
  throw gatewayError(
    'conflict',
    'The last break-glass admin cannot be demoted, deactivated or removed while single sign-on is enforced. Name another one first.',
  )
}
