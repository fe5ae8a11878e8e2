import type { Gateway } from '../gateway/gateway.ts'
import type { Actor, AuditOrigin } from '../governance/audit/entry.ts'
import { type RecordEvent, transactAs } from '../governance/audit/transaction.ts'
import { displayNameOf, findMember, type Member } from '../identity/members.ts'
import type { Db } from '../platform/db/db.ts'
import { resolveRequestId } from '../platform/http/request-id.ts'
import type { Caller } from './caller.ts'
import { resolveRequestSource } from './client-address.ts'

/** The parts of an operation's context that identify its caller. */
export interface AuditedRequest {
  gateway: Gateway
  caller: Caller | null
  httpRequest: Request
}

/** Runs the transaction of an operation; what `record` is given is written to the audit log with it. */
export async function transact<T>(
  request: AuditedRequest,
  work: (tx: Db, record: RecordEvent) => Promise<T>,
): Promise<T> {
  return transactAs(request.gateway, await resolveOrigin(request), work)
}

/** Resolves the actor and the source of a request. */
export async function resolveOrigin(request: AuditedRequest): Promise<AuditOrigin> {
  const origin = describeOrigin(request)
  const { gateway, caller } = request
  if (!caller || origin.actor.type !== 'member') return origin
  const member = await findMember(gateway.db, caller.organizationId, caller.userId ?? '')
  return { ...origin, actor: { ...origin.actor, name: member ? displayNameOf(member) : null } }
}

/** Describes the origin, like `resolveOrigin`, without the name of a member. */
export function describeOrigin({ gateway, caller, httpRequest }: AuditedRequest): AuditOrigin {
  return {
    organizationId: caller?.organizationId ?? null,
    actor: describeActor(caller),
    ...resolveRequestSource(gateway, httpRequest),
    requestId: resolveRequestId(httpRequest),
  }
}

/** Origin of a page request by a member who is signed in. */
export function originOfMember(gateway: Gateway, httpRequest: Request, member: Member): AuditOrigin {
  return {
    organizationId: member.organization_id,
    actor: { type: 'member', id: member.id, name: displayNameOf(member) },
    ...resolveRequestSource(gateway, httpRequest),
    requestId: resolveRequestId(httpRequest),
  }
}

function describeActor(caller: Caller | null): Actor {
  if (!caller) return { type: 'anonymous', id: null, name: null }
  const { workload, key, userId } = caller
  if (workload) return { type: 'workload', id: workload.policyId, name: workload.subject }
  // The key of a session acts for its member, also without the session: see uploads.
  if (key.source === 'session') return { type: 'member', id: userId, name: null }
  return { type: 'key', id: key.hash, name: key.name }
}
