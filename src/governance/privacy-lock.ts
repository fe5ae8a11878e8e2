import { findOrganization } from '../identity/organizations.ts'
import type { Db } from '../platform/db/db.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'

/** A change that would weaken privacy: the field, and what cannot be done with it. */
export interface Weakening {
  field: string
  problem: string
}

/** Throws if the organization has locked its privacy settings and a change would weaken them. */
export async function assertPrivacyUnlocked(
  db: Db,
  organizationId: string,
  weakening: Weakening | null,
): Promise<void> {
  if (weakening === null || !(await isPrivacyLocked(db, organizationId))) return
  throw gatewayError(
    'privacy_locked',
    `${weakening.field}: ${weakening.problem} while the privacy settings of the organization are locked. Unlock them with {"locked": false} in PATCH /organization/privacy.`,
  )
}

export async function isPrivacyLocked(db: Db, organizationId: string): Promise<boolean> {
  return (await findOrganization(db, organizationId))?.privacy_locked === 1
}
