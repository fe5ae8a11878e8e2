import type { Selectable } from 'kysely'
import { newUuid } from '../platform/crypto/ids.ts'
import type { Db } from '../platform/db/db.ts'
import type { SsoIdentityTable } from '../platform/db/schema.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import { type EmailAddress, parseEmailAddress } from '../platform/validation/email-address.ts'
import { assertWithinCeiling, type Ceilings } from './ceilings.ts'
import { createMember, findMember, type Member } from './members.ts'
import { findVerifiedDomain, type SsoConnection } from './sign-in-rules.ts'

export type SsoIdentity = Selectable<SsoIdentityTable>

/** A person who has signed in, according to the provider. */
export interface SsoPerson {
  subject: string
  email: string | null
  isEmailVerified: boolean
  firstName: string | null
  lastName: string | null
}

/** Reasons why a person is not signed in. The key is in the audit log; the text is on the page. */
export const refusals = {
  member_inactive: 'Your membership is deactivated. Ask an admin of your organization.',
  email_missing:
    'The identity provider sent no usable e-mail address. An admin can set the claim and the scopes of the connection.',
  email_unverified:
    'The identity provider does not confirm that your e-mail address is verified. Ask an admin of your organization.',
  domain_not_verified:
    'The domain of your e-mail address does not belong to this organization. An admin can add and verify it.',
  other_identity:
    'The member with this e-mail address signs in as another person of this identity provider. An admin can remove that link.',
  not_a_member: 'You are not a member of this organization. Ask an admin to add you.',
}

export type RefusalReason = keyof typeof refusals

export class SignInRefused extends Error {
  readonly reason: RefusalReason
  constructor(reason: RefusalReason) {
    super(refusals[reason])
    this.reason = reason
  }
}

interface IdentityStore {
  clock: Clock
  settings: { ceilings: Ceilings }
}

/**
 * The member that a person of the provider is: the one linked before, whatever the e-mail address is now; otherwise
 * the one with the same verified address in a verified domain, or a new one. Throws SignInRefused. Call it with the
 * organization locked.
 */
export async function resolvePerson(
  tx: Db,
  store: IdentityStore,
  connection: SsoConnection,
  person: SsoPerson,
): Promise<{ member: Member; change: 'none' | 'linked' | 'created' }> {
  const { organization_id } = connection
  const identity = await findIdentity(tx, connection, person.subject)
  const linked = identity && (await findMember(tx, organization_id, identity.user_id))
  if (identity && linked) {
    if (!linked.active) throw new SignInRefused('member_inactive')
    await touchIdentity(tx, store.clock, identity.id, connection.id)
    return { member: linked, change: 'none' }
  }
  const address = await requireOwnAddress(tx, organization_id, person)
  const known = await findMemberByAddress(tx, organization_id, address)
  if (known) await assertLinkable(tx, connection, known)
  else if (!connection.jit) throw new SignInRefused('not_a_member')
  const member = known ?? (await addMember(tx, store, connection, person, address))
  await insertIdentity(tx, store.clock, connection, { subject: person.subject, userId: member.id })
  return { member, change: known ? 'linked' : 'created' }
}

/** A verified address in a domain that this organization has verified. */
async function requireOwnAddress(tx: Db, organizationId: string, person: SsoPerson): Promise<EmailAddress> {
  const address = person.email === null ? null : parseEmailAddress(person.email)
  if (!address) throw new SignInRefused('email_missing')
  const domain = await findVerifiedDomain(tx, address.domain)
  if (domain?.organization_id !== organizationId) throw new SignInRefused('domain_not_verified')
  if (!person.isEmailVerified) throw new SignInRefused('email_unverified')
  return address
}

async function assertLinkable(tx: Db, { organization_id, issuer }: SsoConnection, member: Member) {
  if (!member.active) throw new SignInRefused('member_inactive')
  const other = await tx
    .selectFrom('sso_identities')
    .select('id')
    .where('organization_id', '=', organization_id)
    .where('issuer', '=', issuer)
    .where('user_id', '=', member.id)
    .executeTakeFirst()
  // An address may have been given to another person since.
  if (other) throw new SignInRefused('other_identity')
}

async function findMemberByAddress(
  tx: Db,
  organizationId: string,
  { address, unicodeAddress }: EmailAddress,
): Promise<Member | undefined> {
  return tx
    .selectFrom('members')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('email', 'in', [address, unicodeAddress])
    .orderBy('created_at')
    .executeTakeFirst()
}

async function addMember(
  tx: Db,
  { clock, settings }: IdentityStore,
  { organization_id }: SsoConnection,
  { firstName, lastName }: SsoPerson,
  { address }: EmailAddress,
): Promise<Member> {
  const member = await createMember(tx, clock, {
    organizationId: organization_id,
    email: address,
    firstName,
    lastName,
    role: 'org:member',
  })
  await assertWithinCeiling(tx, settings.ceilings, 'members', organization_id)
  return member
}

async function findIdentity(
  tx: Db,
  { organization_id, issuer }: SsoConnection,
  subject: string,
): Promise<SsoIdentity | undefined> {
  return tx
    .selectFrom('sso_identities')
    .selectAll()
    .where('organization_id', '=', organization_id)
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst()
}

async function touchIdentity(tx: Db, clock: Clock, id: string, connectionId: string): Promise<void> {
  await tx
    .updateTable('sso_identities')
    .set({ connection_id: connectionId, last_signed_in_at: isoNow(clock) })
    .where('id', '=', id)
    .execute()
}

async function insertIdentity(
  tx: Db,
  clock: Clock,
  { id, organization_id, issuer }: SsoConnection,
  { subject, userId }: { subject: string; userId: string },
): Promise<void> {
  const now = isoNow(clock)
  await tx
    .insertInto('sso_identities')
    .values({
      id: newUuid(),
      organization_id,
      issuer,
      subject,
      connection_id: id,
      user_id: userId,
      created_at: now,
      last_signed_in_at: now,
    })
    .execute()
}
