import { type Db, isUniqueViolation } from '../platform/db/db.ts'
import type { SsoDomainTable } from '../platform/db/schema.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'

/** The DNS record by which the owner of a domain verifies it. */
export function verificationRecordOf(domain: Pick<SsoDomainTable, 'domain' | 'verification_token'>) {
  return {
    name: `_headgate.${domain.domain}`,
    value: `headgate-verification=${domain.verification_token}`,
  }
}

/** A domain belongs to the organization that verified it first. */
export async function setDomainVerified(tx: Db, clock: Clock, id: string, verifiedBy: 'dns' | 'operator') {
  try {
    return await tx
      .updateTable('sso_domains')
      .set({ verified_at: isoNow(clock), verified_by: verifiedBy })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow()
  } catch (error) {
    if (isUniqueViolation(error))
      throw gatewayError('conflict', 'domain: another organization of this installation has verified it.')
    throw error
  }
}

export async function findDomainByName(db: Db, organizationId: string, domain: string) {
  return db
    .selectFrom('sso_domains')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('domain', '=', domain)
    .executeTakeFirst()
}
