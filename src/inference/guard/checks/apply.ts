import type { PlacedText } from '../../../formats/call/texts.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { Span } from '../../../governance/filters/detector.ts'
import type { AppliedCheck, GuardrailHit } from '../../../governance/policy/content-rules.ts'
import type { FilterDirection } from '../../../governance/policy/effective.ts'
import { type GatewayError, gatewayError } from '../../../platform/errors/gateway-error.ts'
import { logOf } from '../../../platform/logging/request-log.ts'
import type { RequestState } from '../../request/inference-request.ts'
import { CheckFailure, type CheckOutcome, type PreparedCheck } from './runner.ts'
import type { Verdict } from './service.ts'

/** What checks say about texts. */
export interface CheckedTexts {
  hits: GuardrailHit[]
  /** What to replace in each text. */
  redactions: Span[][]
  /** The error for a text that a check has to pass, and that it has not read. */
  refusal: GatewayError | null
}

interface CheckInput {
  checks: readonly AppliedCheck[]
  direction: FilterDirection
  texts: readonly PlacedText[]
  /** Calls that each check may still make; all that it is allowed by default. */
  budgets?: Map<AppliedCheck, number>
}

/** Sends texts to the services of checks, all at the same time. */
export async function applyChecks(
  gateway: Gateway,
  request: RequestState,
  input: CheckInput,
): Promise<CheckedTexts> {
  const { checks, direction, texts, budgets } = input
  const { organizationId } = request.caller
  const contents = texts.map(({ text }) => text)
  const prepared = checks.map((check) => {
    const budget = budgets?.get(check)
    const result = gateway.checks.prepare(check, organizationId, direction, contents, budget)
    if (!(result instanceof CheckFailure)) budgets?.set(check, (budget ?? check.max_calls) - result.calls)
    return { check, result }
  })
  const results = await Promise.all(
    prepared.map(async ({ check, result }) => ({
      check,
      ...(await runCheck(gateway, request, result)),
    })),
  )
  return combine(gateway, request, input, results)
}

async function runCheck(
  gateway: Gateway,
  request: RequestState,
  prepared: PreparedCheck | CheckFailure,
): Promise<CheckOutcome> {
  if (prepared instanceof CheckFailure) return { verdicts: [], failure: prepared }
  const { signal } = request.httpRequest
  const outcome = await gateway.checks.run(prepared, signal)
  signal.throwIfAborted()
  return outcome
}

function combine(
  gateway: Gateway,
  request: RequestState,
  { direction, texts }: CheckInput,
  results: readonly (CheckOutcome & { check: AppliedCheck })[],
): CheckedTexts {
  const hits: GuardrailHit[] = []
  const redactions: Span[][] = texts.map(() => [])
  let refusal: GatewayError | null = null
  for (const { check, verdicts, failure } of results) {
    for (const [index, verdict] of verdicts.entries()) {
      const text = texts[index]
      if (!text || !verdict?.isFlagged) continue
      const hit = describeHit(check, direction, text, verdict)
      hits.push(hit)
      if (hit.action === 'redact' && check.isEnforced) redactions[index]?.push(...verdict.spans)
    }
    if (!failure) continue
    logOf(gateway, request).warn({ check: check.name, cause: failure.failureCause }, 'text not checked')
    // It is refused, or passes: the hit only records it.
    const place = { part: 'external_check', role: null, count: 1, kinds: ['not_scanned'] }
    hits.push({ ...describeCheck(check, direction), ...place, action: 'flag' })
    if (check.isEnforced && check.on_failure === 'closed') refusal ??= unavailableError(check, direction)
  }
  return { hits, redactions, refusal }
}

/** What cannot be redacted is blocked. */
function describeHit(
  check: AppliedCheck,
  direction: FilterDirection,
  { place: { part, role } }: PlacedText,
  { kinds, spans, hasUnplaced }: Verdict,
): GuardrailHit {
  const isUnplaced = hasUnplaced || spans.length === 0
  const action = check.action === 'redact' && isUnplaced ? 'block' : check.action
  return { ...describeCheck(check, direction), action, part, role, count: Math.max(1, spans.length), kinds }
}

function describeCheck({ name, action, isEnforced, layer }: AppliedCheck, direction: FilterDirection) {
  return { rule: name, action, isEnforced, layers: [layer], direction }
}

function unavailableError({ name }: AppliedCheck, direction: FilterDirection): GatewayError {
  const subject = direction === 'input' ? 'prompt' : 'reply'
  return gatewayError(
    'moderation_unavailable',
    `The ${subject} could not be checked by "${name}". Retry later.`,
    {
      check: name,
    },
  )
}
