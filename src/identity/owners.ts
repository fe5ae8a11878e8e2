import { meterSubjects } from '../ledger/meter-subjects.ts'
import { sha256 } from '../platform/crypto/crypto.ts'
import type { Db } from '../platform/db/db.ts'

/** The account of the owner of an organization: more organizations do not raise the limits of free models. */
export interface OwnerAccount {
  /** The meter that counts requests to free variants of all organizations of the owner. */
  subject: string
  /** Credits ever bought for these organizations, in nano-dollars. */
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
  const owned = owner ? await listOwned(db, owner.email) : []
  // Members may change between the queries.
  const organizationIds = [...new Set([organizationId, ...owned])]
  return { subject, purchased: await loadPurchased(db, organizationIds) }
}

/** Sums purchases by organization ids: with a subquery, PostgreSQL reads the entries of all organizations. */
async function loadPurchased(db: Db, organizationIds: readonly string[]): Promise<bigint> {
  const { sum_nanos } = await db
    .selectFrom('ledger_entries')
    .select((eb) => eb.fn.sum<bigint | null>('amount_nanos').as('sum_nanos'))
    .where('account', '=', 'credits')
    .where('kind', '=', 'purchase')
    .where('organization_id', 'in', organizationIds)
    .executeTakeFirstOrThrow()
  return sum_nanos ?? 0n
}

async function listOwned(db: Db, email: string): Promise<string[]> {
  const rows = await db
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
    .execute()
  return rows.map(({ organization_id }) => organization_id)
}
