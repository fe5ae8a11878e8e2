import type { Selectable } from 'kysely'
import type { Vault } from '../platform/crypto/crypto.ts'
import type { Db } from '../platform/db/db.ts'
import type { SsoMappingTable } from '../platform/db/schema.ts'
import type { SsoConnection } from './sign-in-rules.ts'

export type SsoMapping = Selectable<SsoMappingTable>

/** The names of the claims that are read, in the ID token or from the UserInfo endpoint. */
export interface ClaimNames {
  email: string
  email_verified: string
  given_name: string
  family_name: string
}

export function claimNamesOf({ claims }: SsoConnection): ClaimNames {
  return JSON.parse(claims)
}

export function scopesOf({ scopes }: SsoConnection): string[] {
  return JSON.parse(scopes)
}

export function encryptClientSecret(vault: Vault, connectionId: string, secret: string): string {
  return vault.encrypt(secret, `sso_connections:${connectionId}`)
}

export function openClientSecret(vault: Vault, { id, sealed_client_secret }: SsoConnection): string {
  return vault.decrypt(sealed_client_secret, `sso_connections:${id}`)
}

/** Finds a connection for a visitor who is not signed in; others use `findOwnConnection`. */
export async function findConnection(db: Db, id: string): Promise<SsoConnection | undefined> {
  return db.selectFrom('sso_connections').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function findOwnConnection(
  db: Db,
  organizationId: string,
  id: string,
): Promise<SsoConnection | undefined> {
  return db
    .selectFrom('sso_connections')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Maximum connections of one client: several organizations may be clients of one provider. */
const maxConnectionsOfClient = 20

export async function findConnectionsOfClient(
  db: Db,
  issuer: string,
  clientIds: string[],
): Promise<SsoConnection[]> {
  if (clientIds.length === 0) return []
  return db
    .selectFrom('sso_connections')
    .selectAll()
    .where('issuer', '=', issuer)
    .where('client_id', 'in', clientIds)
    .limit(maxConnectionsOfClient)
    .execute()
}

export async function listMappings(db: Db, connectionIds: string[]): Promise<SsoMapping[]> {
  if (connectionIds.length === 0) return []
  return db
    .selectFrom('sso_mappings')
    .selectAll()
    .where('connection_id', 'in', connectionIds)
    .orderBy('id')
    .execute()
}
