import { resolveRequestSource } from '../../../access/client-address.ts'
import { resolveTokenIssuer } from '../../../access/workload.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { Actor, AuditEvent } from '../../../governance/audit/entry.ts'
import { transactAs } from '../../../governance/audit/transaction.ts'
import { accessTokenScope } from '../../../identity/access-tokens.ts'
import { findKey } from '../../../identity/keys.ts'
import { JwksUnavailableError } from '../../../identity/oidc/jwks-cache.ts'
import { uuidPattern } from '../../../platform/crypto/ids.ts'
import { GatewayError, gatewayError } from '../../../platform/errors/gateway-error.ts'
import { networkOf } from '../../../platform/http/client-network.ts'
import { resolveRequestId } from '../../../platform/http/request-id.ts'
import { isTargetKey, targetOf } from './policies.ts'
import { findExchangePolicy, type Policy } from './store.ts'
import { Refusal, type SubjectToken, verifySubjectToken } from './subject-token.ts'
import { accessTokenType, type TokenExchange } from './token-request.ts'

const maxLifetimeSeconds = 15 * 60
const unavailableSeconds = 10
/** Failed exchanges in a minute, from one address: in total, and with one policy. */
const maxFailures = 60
const maxPolicyFailures = 20
/** Entries a minute for each organization: strangers cause these. */
const maxRefusals = 60
/** Tokens that a policy issues in a minute, on one node. */
const maxIssued = 1000

interface Exchange extends TokenExchange {
  gateway: Gateway
  httpRequest: Request
}

/** Exchanges the token of an issuer for an access token. Every refusal looks the same. */
export async function exchangeToken(exchange: Exchange) {
  const { gateway, policyId, subjectToken } = exchange
  const found = uuidPattern.test(policyId)
    ? await findExchangePolicy(gateway.db, policyId.toLowerCase())
    : undefined
  const policy = found?.policy ?? null
  try {
    if (!found?.policy.enabled) throw new Refusal(found ? 'policy disabled' : 'unknown policy')
    const subject = await verifySubjectToken(gateway, found, subjectToken)
    const issued = await issueToken(gateway, found.policy, subject)
    const [actor, target] = [{ id: found.policy.id, name: subject.subject }, targetOf(found.policy)]
    const { workspaceId } = issued
    await recordExchange(exchange, found.policy, actor, { action, target, workspaceId })
    return issued.response
  } catch (error) {
    if (!(error instanceof Refusal || error instanceof JwksUnavailableError)) throw error
    if (error instanceof Refusal) await countFailure(exchange)
    const subject = error instanceof Refusal ? error.subject : null
    await recordExchange(
      exchange,
      policy,
      { id: subject && policyId, name: subject },
      {
        action,
        target: policy ? targetOf(policy) : { type: 'workload_policy', id: toKnownForm(policyId) },
        outcome: 'refused',
        details: { reason: error.message },
      },
    )
    throw error instanceof Refusal ? gatewayError('invalid_grant') : unavailableIssuerError()
  }
}

const action = 'workload_token.issue'

/** Normalizes a policy id for records: a client may send anything, and a policy id is a UUID. */
function toKnownForm(policyId: string): string {
  return uuidPattern.test(policyId) ? policyId.toLowerCase() : 'unknown'
}

/** A valid token is exchanged however many others failed: clients may share the address of a proxy. */
async function countFailure({ gateway, httpRequest, policyId }: Exchange): Promise<void> {
  const address = networkOf(resolveRequestSource(gateway, httpRequest).ip ?? '')
  await consume(gateway, `token exchange ${address}`, maxFailures)
  await consume(gateway, `token exchange ${address} ${policyId.slice(0, 64)}`, maxPolicyFailures)
}

function consume({ rateLimiter, clock }: Gateway, name: string, limit: number): void | Promise<void> {
  return rateLimiter.consume(name, limit, clock.now(), 'Too many token exchanges. Retry in a minute.')
}

async function issueToken(gateway: Gateway, policy: Policy, { subject, expiresAt }: SubjectToken) {
  const key = await findKey(gateway.db, policy.organization_id, policy.target_key)
  const now = gateway.clock.now()
  if (!key || !isTargetKey(key) || key.disabled || key.suspended) throw new Refusal('key', subject)
  if (key.expires_at !== null && Date.parse(key.expires_at) <= now) throw new Refusal('key expired', subject)
  await consume(gateway, `token policy ${policy.id}`, maxIssued)
  const nowSeconds = Math.floor(now / 1000)
  const expires = Math.min(expiresAt, nowSeconds + maxLifetimeSeconds)
  const access_token = await gateway.identity.accessTokens.issue({
    subject,
    policyId: policy.id,
    keyId: key.id,
    issuer: resolveTokenIssuer(gateway),
    expiresAt: expires,
  })
  return {
    workspaceId: key.workspace_id,
    response: {
      access_token,
      issued_token_type: accessTokenType,
      token_type: 'Bearer',
      expires_in: expires - nowSeconds,
      scope: accessTokenScope,
    } as const,
  }
}

async function recordExchange(
  { gateway, httpRequest }: Exchange,
  policy: Policy | null,
  actor: Omit<Actor, 'type'>,
  event: AuditEvent,
): Promise<void> {
  const organizationId = policy?.organization_id ?? null
  const { rateLimiter, clock } = gateway
  const refusals = `token refusals ${organizationId}`
  if (event.outcome === 'refused' && !(await rateLimiter.tryConsume(refusals, maxRefusals, clock.now())))
    return
  const origin = {
    organizationId,
    actor: { type: 'workload' as const, ...actor },
    ...resolveRequestSource(gateway, httpRequest),
    requestId: resolveRequestId(httpRequest),
  }
  await transactAs(gateway, origin, async (_, record) => record(event))
}

function unavailableIssuerError(): GatewayError {
  return new GatewayError('unavailable', {
    message: 'The issuer of the subject token cannot be reached. Retry later.',
    headers: { 'retry-after': String(unavailableSeconds) },
  })
}
