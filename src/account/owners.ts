import type { Db } from '../db/db.ts'
import { meterSubjects } from '../ledger/meter-subjects.ts'
import { sha256 } from '../lib/crypto.ts'

/** The account of the owner of an organization: more organizations do not raise the limits of free models. */
export interface OwnerAccount {
  /** The meter that counts requests to free variants of all organizations of the owner. */
  subject: string
  /** What was bought for these organizations, ever, in nano-dollars. */
  purchased: bigint
}

/** The owner is the admin who has been a member for the longest time. */
export async function loadOwnerAccount(db: Db, organizationId: string): Promise<OwnerAccount> {
  const owner = await db
    .selectFrom('members')
    .select('email')
    .where('organization_id', '=', organizationId)
    .where('role', '=', 'org:admin')
    .orderBy('created_at')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  const subject = owner
    ? meterSubjects.owner(sha256(owner.email))
    : meterSubjects.organization(organizationId)
  return { subject, purchased: await loadPurchased(db, organizationId, owner?.email) }
}

async function loadPurchased(db: Db, organizationId: string, email = ''): Promise<bigint> {
  const { sum_nanos } = await db
    .selectFrom('ledger_entries')
    .select((eb) => eb.fn.sum<bigint | null>('amount_nanos').as('sum_nanos'))
    .where('account', '=', 'credits')
    .where('kind', '=', 'purchase')
    .where((eb) =>
      eb.or([
        eb('organization_id', '=', organizationId),
        eb('organization_id', 'in', selectOwned(db, email)),
      ]),
    )
    .executeTakeFirstOrThrow()
  return sum_nanos ?? 0n
}

function selectOwned(db: Db, email: string) {
  return db
    .selectFrom('members as owner')
    .select('owner.organization_id')
    .where('owner.email', '=', email)
    .where('owner.role', '=', 'org:admin')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('members as earlier')
            .select('earlier.id')
            .whereRef('earlier.organization_id', '=', 'owner.organization_id')
            .where('earlier.role', '=', 'org:admin')
            .where((eb) =>
              eb.or([
                eb('earlier.created_at', '<', eb.ref('owner.created_at')),
                eb.and([
                  eb('earlier.created_at', '=', eb.ref('owner.created_at')),
                  eb('earlier.id', '<', eb.ref('owner.id')),
                ]),
              ]),
            ),
        ),
      ),
    )
}
