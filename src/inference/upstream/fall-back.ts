import type { FailureKind, UpstreamFailure } from '../../formats/call/failure.ts'
import type { FallbackReason } from '../../formats/schema/fallbacks.ts'
import type { ReplySummary } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { ClientDisconnectedError, UpstreamError } from '../failures/errors.ts'
import { raiseHold } from '../hold/raise-hold.ts'
import { addFallback, listFallbacks } from '../plan/fallback.ts'
import { buildPlan } from '../plan/plan.ts'
import type { Admitted, RequestState, Routed } from '../request/inference-request.ts'
import type { Candidate } from '../routing/candidate.ts'

/** Null: another model would fail too, or the request names models for any reason. */
const reasons: Record<FailureKind, FallbackReason | null> = {
  context_length_exceeded: 'context_length',
  content_policy_violation: 'content_policy',
  refusal: 'content_policy',
  rate_limit_exceeded: 'rate_limit',
  authentication: 'error',
  permission_denied: 'error',
  payment_required: 'error',
  provider_overloaded: 'error',
  provider_unavailable: 'error',
  not_found: 'error',
  server: 'error',
  timeout: 'error',
  max_tokens_exceeded: null,
  invalid_request: null,
  payload_too_large: null,
  unprocessable: null,
}

/**
 * The first candidate of the next model for the reason of the last failure, or for the rate limit of all candidates. It
 * is added to the plan once its worst case is held. Null if there is none.
 */
export async function fallBack(
  gateway: Gateway,
  request: Routed,
  encodingError: GatewayError | null,
): Promise<Candidate | null> {
  const { attempts, plan, httpRequest } = request
  const last = attempts.failed.at(-1)
  const reason = last ? reasons[last.failure.kind] : 'rate_limit'
  const from = plan.candidates.find(({ model }) => !last || model.id === last.model)?.model
  if (!reason || !from || !isAdmitted(request) || (!last && encodingError)) return null
  for (const { step, plan: planned } of listFallbacks(gateway, request, { reason, from }, buildPlan)) {
    const held = await raiseHold(gateway, request, planned).catch((error: unknown) => {
      if (error instanceof GatewayError) return null
      throw error
    })
    if (httpRequest.signal.aborted) throw new ClientDisconnectedError()
    const [candidate] = held?.candidates ?? []
    if (!held || !candidate) continue
    addFallback(request, { step, plan: held })
    if (last) last.fallback = reason
    return candidate
  }
  return null
}

function isAdmitted(request: Routed): request is Admitted {
  return request.hold !== null
}

/** Treats a refusal without any content as a failure where it leads to another model; otherwise it is the reply. */
export function assertNotRefused(
  { options }: RequestState,
  { model }: Candidate,
  { hasContent, finishReasons }: ReplySummary,
): void {
  const isRefused = !hasContent && finishReasons.some((finish) => finish?.reason === 'content_filter')
  if (isRefused && (options.fallbacks?.content_policy ?? model.fallbacks?.content_policy))
    throw new UpstreamError(refusal)
}

const refusal: UpstreamFailure = { kind: 'refusal', status: null, message: 'The model refused to reply.' }
