import { resolveRequestSource } from '../../../access/client-address.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { AuditOrigin } from '../../../governance/audit/entry.ts'
import { type RecordEvent, transactAs } from '../../../governance/audit/transaction.ts'
import { endPreviousSession, originOf } from '../../../http/pages/sign-in.ts'
import { displayNameOf, type Member } from '../../../identity/members.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { startSession } from '../../../identity/sessions.ts'
import type { SsoConnection } from '../../../identity/sign-in-rules.ts'
import { applySsoGrants, setMatchedMappings } from '../../../identity/sso-grants.ts'
import { resolvePerson, SignInRefused, type SsoPerson } from '../../../identity/sso-identities.ts'
import { claimToken, idTokenContext, insertSsoSession } from '../../../identity/sso-sessions.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { type Claims, matchMapping, readPerson } from './claims.ts'
import type { LoginState } from './login-state.ts'

/** A sign-in that the provider has confirmed. */
export interface SignInProof {
  connection: SsoConnection
  login: LoginState
  idToken: string
  subject: string
  sid: string | null
  claims: Claims
}

/** Starts the session of the member that the person is; returns its token. Throws SignInRefused. */
export async function finishSignIn(gateway: Gateway, request: Request, proof: SignInProof): Promise<string> {
  const { connection, subject, claims } = proof
  const person = readPerson(connection, subject, claims)
  const origin = ssoOriginOf(gateway, request, connection)
  try {
    return await transactAs(gateway, origin, async (tx, record) => {
      await claimState(tx, gateway, proof.login)
      await lockOrganization(tx, connection.organization_id)
      const member = await admitPerson(tx, gateway, proof, person, record)
      origin.actor = { type: 'member', id: member.id, name: displayNameOf(member) }
      await endPreviousSession(tx, gateway, request, record)
      const source = resolveRequestSource(gateway, request)
      const { session, token } = await startSession(tx, gateway, {
        userId: member.id,
        method: 'oidc',
        ...source,
      })
      await insertSsoSession(tx, toSsoSession(gateway, proof, session.token_hash))
      record({
        action: 'session.create',
        target: { type: 'session', id: session.id },
        details: { method: 'oidc', connection_id: connection.id },
      })
      return token
    })
  } catch (error) {
    if (error instanceof SignInRefused) {
      const { reason } = error
      await recordRefusal(gateway, request, connection, { reason, subject, email: person.email })
    }
    throw error
  }
}

/** A state is used once, on all nodes. */
async function claimState(tx: Db, { clock }: Gateway, { state, expiresAt }: LoginState): Promise<void> {
  if (await claimToken(tx, clock, `state:${state}`, expiresAt)) return
  throw gatewayError('forbidden', 'This sign-in was used already. Start again.')
}

/** Finds, links or creates the member, with the roles and workspaces of this sign-in. */
async function admitPerson(
  tx: Db,
  gateway: Gateway,
  { connection, claims }: SignInProof,
  person: SsoPerson,
  record: RecordEvent,
): Promise<Member> {
  const { member, change } = await resolvePerson(tx, gateway, connection, person)
  const target = { type: 'member', id: member.id, name: displayNameOf(member) }
  const details = { issuer: connection.issuer, subject: person.subject }
  if (change === 'created') record({ action: 'member.create', target, after: { ...member } })
  if (change !== 'none') record({ action: 'sso_identity.create', target, details })
  await setMatchedMappings(tx, member.id, connection.id, (mapping) => matchMapping(claims, mapping))
  await applySsoGrants(tx, gateway.clock, {
    organizationId: connection.organization_id,
    userIds: [member.id],
  })
  return member
}

function toSsoSession({ vault }: Gateway, proof: SignInProof, tokenHash: string) {
  return {
    token_hash: tokenHash,
    connection_id: proof.connection.id,
    issuer: proof.connection.issuer,
    subject: proof.subject,
    sid: proof.sid,
    sealed_id_token: vault.encrypt(proof.idToken, idTokenContext(tokenHash)),
  }
}

/** Origin of audit events before the member is known. */
export function ssoOriginOf(gateway: Gateway, request: Request, connection: SsoConnection): AuditOrigin {
  return { ...originOf(gateway, request), organizationId: connection.organization_id }
}

/** Entries a minute for each organization: strangers cause these. */
const maxRefusalsPerMinute = 60

export async function recordRefusal(
  gateway: Gateway,
  request: Request,
  connection: SsoConnection,
  details: { reason: string; subject?: string; email?: string | null },
): Promise<void> {
  const name = `single sign-on refusals ${connection.organization_id}`
  if (!(await gateway.rateLimiter.tryConsume(name, maxRefusalsPerMinute, gateway.clock.now()))) return
  await transactAs(gateway, ssoOriginOf(gateway, request, connection), async (_tx, record) => {
    record({
      action: 'session.create',
      outcome: 'refused',
      target: { type: 'sso_connection', id: connection.id, name: connection.name },
      details: { method: 'oidc', ...details },
    })
  })
}
