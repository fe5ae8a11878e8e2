import type { Selectable } from 'kysely'
import { lockOrganization } from '../identity/organizations.ts'
import { newUuid } from '../platform/crypto/ids.ts'
import { type Db, isUniqueViolation } from '../platform/db/db.ts'
import type { AllowedPhraseTable } from '../platform/db/schema.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'

export type AllowedPhrase = Selectable<AllowedPhraseTable>

/** Maximum per organization: the injection detector compares every place of a text with all of them. */
export const maxAllowedPhrases = 200

/** Lists phrases, oldest first. */
export async function listAllowedPhrases(db: Db, organizationId: string): Promise<AllowedPhrase[]> {
  return db
    .selectFrom('allowed_phrases')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
}

export async function createAllowedPhrase(
  tx: Db,
  clock: Clock,
  input: { organizationId: string; phrase: string; createdBy: string | null },
): Promise<AllowedPhrase> {
  const { organizationId, phrase, createdBy } = input
  await lockOrganization(tx, organizationId)
  if ((await listAllowedPhrases(tx, organizationId)).length >= maxAllowedPhrases)
    throw gatewayError(
      'conflict',
      `phrase: the organization already has ${maxAllowedPhrases} allowed phrases. Delete one first.`,
    )
  const row = {
    id: newUuid(),
    organization_id: organizationId,
    phrase,
    folded: phrase.toLowerCase(),
    created_by: createdBy,
    created_at: isoNow(clock),
  }
  try {
    await tx.insertInto('allowed_phrases').values(row).execute()
    return row
  } catch (error) {
    if (isUniqueViolation(error)) throw gatewayError('conflict', 'phrase: is already allowed.')
    throw error
  }
}

/** False if it does not exist. */
export async function deleteAllowedPhrase(
  tx: Db,
  organizationId: string,
  id: string,
): Promise<AllowedPhrase | undefined> {
  return tx
    .deleteFrom('allowed_phrases')
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}
