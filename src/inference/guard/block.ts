import type { Gateway } from '../../gateway/gateway.ts'
import { detectorLabels } from '../../governance/filters/detectors.ts'
import type { GuardrailHit } from '../../governance/policy/content-rules.ts'
import { scopedBuiltin } from '../../governance/policy/guardrail.ts'
import { type GatewayError, gatewayError, isBlock } from '../../platform/errors/gateway-error.ts'
import type { RequestState } from '../request/inference-request.ts'
import { recordHits } from './hits.ts'

/** Throws if a filter blocks the request, after its hits are stored. */
export async function throwIfBlocked(gateway: Gateway, request: RequestState): Promise<void> {
  const error = findBlock(request.hits ?? [])
  if (!error) return
  await recordHits(gateway, request)
  throw error
}

/** Waits for a stage before admission. If a filter blocks what it adds, the hits are stored: no record will have them. */
export async function recordIfBlocked<T>(
  gateway: Gateway,
  request: RequestState,
  preparing: T | Promise<T>,
): Promise<T> {
  try {
    return await preparing
  } catch (error) {
    if (isBlock(error)) await recordHits(gateway, request)
    throw error
  }
}

/** The error of hits that block a request or a reply; undefined if none does. */
export function findBlock(hits: readonly GuardrailHit[]): GatewayError | undefined {
  const blocking = hits.filter(({ action, isEnforced }) => action === 'block' && isEnforced)
  if (blocking.length === 0) return undefined
  const rules = [...new Set(blocking.map(({ rule }) => rule))]
  const patterns = blocking.filter(({ rule }) => rule === scopedBuiltin).flatMap(({ kinds }) => kinds)
  const subject = blocking.some(({ direction }) => direction === 'output') ? 'Response' : 'Request'
  return gatewayError('guardrail_blocked', describeBlock(subject, rules), {
    filters: describeFilters(blocking),
    ...(patterns.length > 0 && { patterns: [...new Set(patterns)] }),
  })
}

const labels: Record<string, string> = {
  ...detectorLabels,
  unscannable_content: 'content that cannot be scanned',
}

function describeBlock(subject: 'Request' | 'Response', rules: readonly string[]): string {
  if (rules.length === 1 && rules[0] === scopedBuiltin)
    return `${subject} blocked: prompt injection patterns detected`
  return `${subject} blocked by content filter: ${rules.map((rule) => labels[rule] ?? rule).join(', ')}`
}

/** Bounded: a request can have as many places as parts. */
const maxDescribed = 20

function describeFilters(hits: readonly GuardrailHit[]) {
  return hits
    .slice(0, maxDescribed)
    .map(({ rule, part, role, count }) => ({ filter: rule, part, role, count }))
}
