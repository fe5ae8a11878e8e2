import { displayNameOf, findMember, type Member } from '../../account/members.ts'
import type { Gateway } from '../../app/gateway.ts'
import type { Actor, AuditOrigin } from '../../audit/entry.ts'
import { type RecordEvent, transactAs } from '../../audit/transaction.ts'
import type { Db } from '../../db/db.ts'
import { resolveRequestId } from '../../lib/request-id.ts'
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

/** Who sent the request, and from where. */
export async function resolveOrigin({ gateway, caller, httpRequest }: AuditedRequest): Promise<AuditOrigin> {
  return {
    organizationId: caller?.organizationId ?? null,
    actor: caller ? await resolveActor(gateway, caller) : { type: 'anonymous', id: null, name: null },
    ...resolveRequestSource(gateway, httpRequest),
    requestId: resolveRequestId(httpRequest),
  }
}

/** For a page of a member who is signed in. */
export function originOfMember(gateway: Gateway, httpRequest: Request, member: Member): AuditOrigin {
  return {
    organizationId: member.organization_id,
    actor: { type: 'member', id: member.id, name: displayNameOf(member) },
    ...resolveRequestSource(gateway, httpRequest),
    requestId: resolveRequestId(httpRequest),
  }
}

async function resolveActor({ db }: Gateway, caller: Caller): Promise<Actor> {
  const { workload } = caller
  if (workload) return { type: 'workload', id: workload.policyId, name: workload.subject }
  // The key of a session acts for its member, also without the session: see uploads.
  if (caller.key.source !== 'session') return { type: 'key', id: caller.key.hash, name: caller.key.name }
  const member = await findMember(db, caller.organizationId, caller.userId ?? '')
  return { type: 'member', id: caller.userId, name: member ? displayNameOf(member) : null }
}
