import type { Caller } from '../../../access/caller.ts'
import { type AuditedRequest, transact } from '../../../access/transact.ts'
import type { AuditEvent } from '../../../governance/audit/entry.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { assertRecentlySignedIn } from './recent.ts'

interface Removal {
  /** Action in the audit log. */
  action: string
  /** The message of the 404. */
  missing: string
  /** Returns what was removed, if there was anything. */
  remove: (tx: Db, userId: string) => Promise<AuditEvent['target'] | undefined>
}

/** Removes something that the member who is signed in signs in with. */
export async function removeSignInMethod(
  context: AuditedRequest & { caller: Caller },
  { action, missing, remove }: Removal,
): Promise<{ deleted: true }> {
  const { gateway, caller } = context
  assertRecentlySignedIn(gateway, caller)
  await transact(context, async (tx, record) => {
    const target = await remove(tx, caller.userId ?? '')
    if (!target) throw gatewayError('not_found', missing)
    record({ action, target })
  })
  return { deleted: true }
}
