import { RejectedKeyError } from '../../access/authenticate.ts'
import type { Caller } from '../../access/caller.ts'
import { type AuditedRequest, describeOrigin } from '../../access/transact.ts'
import type { RefusedRow } from '../../analytics/request-log/walk.ts'
import { tasks } from '../../formats/vocabulary.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { resolveRequestId } from '../../platform/http/request-id.ts'
import { recordPlan } from '../plan/recorded-plan.ts'
import type { RequestState, Unguarded } from '../request/inference-request.ts'
import { newGenerationId } from '../request/parse.ts'

const maxMessageLength = 1000
const maxDetailsLength = 4000
const maxModelLength = 256

/**
 * The ids of requests to models whose error has a record: a generation, or an entry for the rejection. A request to a
 * moderation model has the HTTP request of the one that it classifies.
 */
const recordedIds = new WeakMap<Request, Set<string>>()

/** The error of a request is part of its generation. */
export function markRecorded({ httpRequest, id }: Pick<RequestState, 'httpRequest' | 'id'>): void {
  const ids = recordedIds.get(httpRequest)
  if (ids) ids.add(id)
  else recordedIds.set(httpRequest, new Set([id]))
}

/** Records a request that was rejected before a provider was called, unless its error is on record. */
export function rejectRequest(gateway: Gateway, request: Unguarded<RequestState>, error: unknown): void {
  const { caller, httpRequest, options, content, format, plan } = request
  if (!(error instanceof GatewayError) || recordedIds.get(httpRequest)?.has(request.id)) return
  // What a plugin or tool requests is part of the request that it works for.
  if (request.isNested || httpRequest.signal.aborted) return
  markRecorded(request)
  gateway.metrics.models.recordRejection(request)
  gateway.metrics.policies.recordRejection(error, caller.key.workspace_id)
  error.headers['x-generation-id'] ??= request.id
  gateway.requestLog.rejected.add({
    ...describeError(error),
    ...describeOwner(caller),
    id: request.id,
    created_at: new Date(request.at).toISOString(),
    requested_model: (content.received.model ?? options.models[0] ?? '').slice(0, maxModelLength),
    dialect: format.name,
    api_type: tasks[format.task].apiType,
    streamed: content.stream ? 1 : 0,
    latency_ms: Math.round(performance.now() - request.startedAt),
    preset_id: request.presetId,
    ...describeLabels(request),
    request_id: resolveRequestId(httpRequest),
    routing_plan_id: plan && recordPlan(gateway, request, plan),
    requests: 1,
  })
}

/** The client's labels, without those that the filters would redact and have not seen. */
function describeLabels({ isGuarded, keyContext, options }: Unguarded<RequestState>) {
  if (!isGuarded && keyContext.contentRules?.labels)
    return { session_id: null, app_url: null, app_title: null, external_user: null, tags: null }
  const { app, sessionId, user, tags } = options
  return {
    session_id: sessionId,
    app_url: app.url,
    app_title: app.title,
    external_user: user,
    tags: tags.length === 0 ? null : tags.join('\n'),
  }
}

/** The call of an operation that fails. */
interface FailedCall extends AuditedRequest {
  operation: { id: string; method: string; path: string }
  /** Whether it is a request to a model, which is in the request log even if it is rejected. */
  isModelRequest: boolean
}

/** Records a call that was rejected: what its caller may not do in the audit log, and a request that was not parsed. */
export function rejectCall(call: FailedCall, failure: GatewayError): void {
  auditRejection(call, failure)
  if (call.caller && call.isModelRequest) recordUnparsed(call.gateway, call.caller, call.httpRequest, failure)
}

/** A caller that is known lacks a permission. */
const permissionErrors: ReadonlySet<string> = new Set(['permission_missing', 'wrong_key_kind'])

function auditRejection(call: FailedCall, failure: GatewayError): void {
  const caller = call.caller ?? findRejectedCaller(failure)
  if (!caller || !(permissionErrors.has(failure.code) || failure instanceof RejectedKeyError)) return
  const { id, method, path } = call.operation
  const { permission } = failure.metadata
  call.gateway.audit.rejectedCalls.add({
    origin: describeOrigin({ ...call, caller }),
    operation: { id, name: `${method} ${path}` },
    workspaceId: caller.key.kind === 'inference' ? caller.key.workspace_id : null,
    reason: failure.code,
    permission: typeof permission === 'string' ? permission : null,
  })
}

function findRejectedCaller(failure: GatewayError): Caller | null {
  if (!(failure instanceof RejectedKeyError)) return null
  const { key } = failure
  return {
    key,
    organizationId: key.organization_id,
    userId: key.creator_user_id,
    session: null,
    workload: null,
  }
}

/** Records a request that could not be parsed or whose caller may not send it. */
function recordUnparsed(gateway: Gateway, caller: Caller, httpRequest: Request, error: GatewayError): void {
  if (recordedIds.has(httpRequest) || httpRequest.signal.aborted || caller.key.kind !== 'inference') return
  gateway.requestLog.rejected.add({
    ...describeError(error),
    ...describeOwner(caller),
    ...unparsed,
    id: newGenerationId(),
    created_at: new Date(gateway.clock.now()).toISOString(),
    request_id: resolveRequestId(httpRequest),
  })
}

const unparsed = {
  requested_model: null,
  dialect: '',
  api_type: null,
  streamed: 0,
  latency_ms: 0,
  preset_id: null,
  session_id: null,
  app_url: null,
  app_title: null,
  external_user: null,
  tags: null,
  routing_plan_id: null,
  requests: 1,
} as const

function describeOwner({ organizationId, userId, key }: Caller) {
  return {
    organization_id: organizationId,
    workspace_id: key.workspace_id,
    key_id: key.id,
    user_id: userId,
  }
}

/** PostgreSQL has no text with a NUL. */
function describeError(
  error: GatewayError,
): Pick<RefusedRow, 'error_code' | 'http_status' | 'message' | 'details'> {
  const { file_annotations: _content, ...metadata } = error.metadata
  const { availability } = error
  const details = JSON.stringify({ ...metadata, ...(availability && { availability }) })
  const message = error.row.status === 500 ? error.row.message : error.message
  return {
    error_code: error.code,
    http_status: error.row.status,
    message: message.slice(0, maxMessageLength).replaceAll('\0', ''),
    details: details.length > maxDetailsLength ? '{}' : details.replaceAll('\\u0000', ''),
  }
}
