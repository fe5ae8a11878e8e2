import type { RefusedRow } from '../../account/request-log/walk.ts'
import type { Gateway } from '../../app/gateway.ts'
import { tasks } from '../../catalogue/vocabulary.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import { resolveRequestId } from '../../lib/request-id.ts'
import type { Caller } from '../request/caller.ts'
import type { ModelRequest, Unguarded } from '../request/inference-request.ts'
import { newGenerationId } from '../request/parse.ts'
import type { RoutingPlan } from '../routing/plan.ts'
import { recordPlan } from '../routing/recorded-plan.ts'

const maxMessageLength = 1000
const maxDetailsLength = 4000
const maxModelLength = 256

/** Records a request that was refused before a provider was called. Without effect if the error is on record. */
export function recordRefused(
  gateway: Gateway,
  request: Unguarded<ModelRequest> & { isNested?: true },
  plan: RoutingPlan | null,
  error: unknown,
): void {
  const { caller, httpRequest, options, content, format } = request
  if (!(error instanceof GatewayError) || error.isOnRecord) return
  // What a plugin or tool requests is part of the request that it works for.
  if (request.isNested || httpRequest.signal.aborted) return
  error.isOnRecord = true
  error.headers['x-generation-id'] ??= request.id
  gateway.refusedRequests.add({
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
    session_id: options.sessionId,
    app_url: options.app.url,
    app_title: options.app.title,
    external_user: options.user,
    request_id: resolveRequestId(httpRequest),
    routing_plan_id: plan && recordPlan(gateway, { ...request, hits: null }, plan),
    requests: 1,
  })
}

/** As `recordRefused`, for a request that could not be parsed or whose caller may not send it. */
export function recordUnparsed(
  gateway: Gateway,
  caller: Caller,
  httpRequest: Request,
  error: GatewayError,
): void {
  if (error.isOnRecord || httpRequest.signal.aborted || caller.key.kind !== 'inference') return
  gateway.refusedRequests.add({
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
