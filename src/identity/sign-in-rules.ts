import type { Selectable } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import type { SignInMethod, SsoConnectionTable } from '../platform/db/schema.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import { parseEmailAddress } from '../platform/validation/email-address.ts'

export type SsoConnection = Selectable<SsoConnectionTable>

/** The sign-in rule for an e-mail address. */
export interface SignInRule {
  /** Connection at which single sign-on starts: `/signin/oidc/{id}`. */
  connection: SsoConnection
  /** Whether the organization of the connection accepts no other method, except from its break-glass admins. */
  enforced: boolean
}

/** Undefined unless an organization has verified the domain of the address and has a connection. */
export async function findSignInRule(db: Db, email: string): Promise<SignInRule | undefined> {
  const address = parseEmailAddress(email)
  const domain = address && (await findVerifiedDomain(db, address.domain))
  if (!domain) return undefined
  const connection = await db
    .selectFrom('sso_connections')
    .selectAll()
    .where('organization_id', '=', domain.organization_id)
    .orderBy((eb) => eb.case().when('id', '=', domain.connection_id).then(0).else(1).end())
    .orderBy('created_at')
    .orderBy('id')
    .executeTakeFirst()
  return connection && { connection, enforced: await isSsoEnforced(db, domain.organization_id) }
}

export async function findVerifiedDomain(db: Db, domain: string) {
  return db
    .selectFrom('sso_domains')
    .selectAll()
    .where('domain', '=', domain)
    .where('verified_at', 'is not', null)
    .executeTakeFirst()
}

export async function isSsoEnforced(db: Db, organizationId: string): Promise<boolean> {
  const policy = await db
    .selectFrom('sso_policies')
    .select('enforced')
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
  return policy?.enforced === 1
}

/** Whether the organization of a member accepts the method from this member. */
export async function isMethodAllowed(db: Db, userId: string, method: SignInMethod): Promise<boolean> {
  if (method === 'oidc') return true
  const refused = await db
    .selectFrom('members')
    .innerJoin('sso_policies', 'sso_policies.organization_id', 'members.organization_id')
    .select('members.id')
    .where('members.id', '=', userId)
    .where('sso_policies.enforced', '=', 1)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('sso_break_glass')
            .select('user_id')
            .whereRef('sso_break_glass.user_id', '=', 'members.id')
            .where('members.role', '=', 'org:admin'),
        ),
      ),
    )
    .executeTakeFirst()
  return refused === undefined
}

/** Throws if the organization of the member requires single sign-on. */
export async function assertMethodAllowed(db: Db, userId: string, method: SignInMethod): Promise<void> {
  if (await isMethodAllowed(db, userId, method)) return
  throw gatewayError(
    'forbidden',
    'Your organization requires single sign-on. Sign in with the identity provider of your organization.',
  )
}
