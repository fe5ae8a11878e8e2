import type { GatewayError } from '../errors/gateway-error.ts'
import { RefusedKeyError } from '../pipeline/request/authenticate.ts'
import type { Caller } from '../pipeline/request/caller.ts'
import { type AuditedRequest, describeOrigin } from '../pipeline/request/transact.ts'
import type { Operation } from './operation.ts'

/** A caller that is known lacks a permission. */
const permissionErrors: ReadonlySet<string> = new Set(['permission_missing', 'wrong_key_kind'])

/** Records that a known caller was refused. */
export function recordRefusal(
  request: AuditedRequest,
  { id, method, path }: Operation,
  failure: GatewayError,
): void {
  const caller = request.caller ?? findRefusedCaller(failure)
  if (!caller || !(permissionErrors.has(failure.code) || failure instanceof RefusedKeyError)) return
  const { permission } = failure.metadata
  request.gateway.refusals.add({
    origin: describeOrigin({ ...request, caller }),
    operation: { id, name: `${method} ${path}` },
    workspaceId: caller.key.kind === 'inference' ? caller.key.workspace_id : null,
    reason: failure.code,
    permission: typeof permission === 'string' ? permission : null,
  })
}

function findRefusedCaller(failure: GatewayError): Caller | null {
  if (!(failure instanceof RefusedKeyError)) return null
  const { key } = failure
  return {
    key,
    organizationId: key.organization_id,
    userId: key.creator_user_id,
    session: null,
    workload: null,
  }
}
