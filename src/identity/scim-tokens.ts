import { randomBytes } from 'node:crypto'
import type { Selectable } from 'kysely'
import { sha256 } from '../platform/crypto/crypto.ts'
import { newUuid } from '../platform/crypto/ids.ts'
import type { Db } from '../platform/db/db.ts'
import { fetchPage } from '../platform/db/page.ts'
import type { ScimTokenTable } from '../platform/db/schema.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import type { Pagination } from '../platform/validation/query-params.ts'

export type ScimToken = Selectable<ScimTokenTable>

const tokenPrefix = 'scim-hg-v1-'

/** Stores the hash of a new token. The secret is returned only here. */
export async function createScimToken(
  db: Db,
  clock: Clock,
  input: { organizationId: string; name: string },
): Promise<{ token: ScimToken; secret: string }> {
  const secret = tokenPrefix + randomBytes(32).toString('hex')
  const token: ScimToken = {
    id: newUuid(),
    organization_id: input.organizationId,
    token_hash: sha256(secret),
    label: `${secret.slice(0, tokenPrefix.length + 3)}...${secret.slice(-3)}`,
    name: input.name,
    created_at: isoNow(clock),
  }
  await db.insertInto('scim_tokens').values(token).execute()
  return { token, secret }
}

export async function findScimToken(db: Db, secret: string): Promise<ScimToken | undefined> {
  return db.selectFrom('scim_tokens').selectAll().where('token_hash', '=', sha256(secret)).executeTakeFirst()
}

export async function listScimTokens(
  db: Db,
  organizationId: string,
  page: Pagination,
): Promise<{ rows: ScimToken[]; total: number }> {
  const all = db.selectFrom('scim_tokens').selectAll().where('organization_id', '=', organizationId)
  return fetchPage(all, page)
}

export async function deleteScimToken(
  db: Db,
  organizationId: string,
  id: string,
): Promise<ScimToken | undefined> {
  return db
    .deleteFrom('scim_tokens')
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}
