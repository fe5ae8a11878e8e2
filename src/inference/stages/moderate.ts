import { findModelForTask } from '../../catalog/lookup.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { GuardrailHit } from '../../governance/policy/content-rules.ts'
import { GatewayError, gatewayError } from '../../platform/errors/gateway-error.ts'
import type { ErrorCode } from '../../platform/errors/table.ts'
import { logOf } from '../../platform/logging/request-log.ts'
import { recordHits } from '../guard/hits.ts'
import { type AppliedModeration, listModerationRules } from '../guard/moderation-rules.ts'
import { addNestedRequest, type NestedRequestLine } from '../hold/bill-line.ts'
import { requireFunds } from '../hold/request-funds.ts'
import { reserveTurn } from '../hold/reserve-turn.ts'
import type { RequestState } from '../request/inference-request.ts'
import { requireWork } from '../request/work.ts'
import { type Classification, classifyPrompt } from './classify.ts'

/** Classifies a request with the moderation models of its rules. Throws if one blocks it, after its hits are stored. */
export async function moderate(gateway: Gateway, request: RequestState): Promise<void> {
  const rules = listModerationRules(gateway, request)
  if (rules.length === 0) return
  const groups = Map.groupBy(rules, ({ model }) => model)
  const isPaid = [...groups.keys()].some((model) => model !== null && hasPrice(gateway, model))
  if (isPaid) {
    requireFunds(request)
    await reserveTurn(gateway, request)
  }
  await applyGroups(gateway, request, groups)
}

/** Whether classifying a prompt may cost something. */
function hasPrice({ catalog }: Gateway, slug: string): boolean {
  const endpoints = findModelForTask(catalog, slug, 'moderations')?.endpoints ?? []
  return endpoints.some(({ price_state }) => price_state !== 'free')
}

async function applyGroups(
  gateway: Gateway,
  request: RequestState,
  groups: ReadonlyMap<string | null, AppliedModeration[]>,
): Promise<void> {
  const lines: NestedRequestLine[] = []
  const judging = [...groups].map(([model, group]) => judge(gateway, request, { model, rules: group }, lines))
  await Promise.allSettled(judging)
  addToBill(request, lines)
  const verdicts = await Promise.all(judging)
  request.hits = [...(request.hits ?? []), ...verdicts.flatMap(({ hits }) => hits)]
  const error = verdicts.find((verdict) => verdict.error)?.error
  if (!error) return
  await recordHits(gateway, request)
  throw error
}

/** A free classification needs no bill: most requests have none. */
function addToBill(request: RequestState, lines: readonly NestedRequestLine[]): void {
  const charged = lines.filter(({ cost }) => request.work !== null || cost > 0n)
  if (charged.length > 0) requireWork(request)
  for (const line of charged) addNestedRequest(request, line)
}

interface Verdict {
  hits: GuardrailHit[]
  /** The error for the client; null if the request may be sent. */
  error: GatewayError | null
}

/** A model is called once for all its rules. */
async function judge(
  gateway: Gateway,
  request: RequestState,
  { model, rules }: { model: string | null; rules: readonly AppliedModeration[] },
  lines: NestedRequestLine[],
): Promise<Verdict> {
  try {
    if (model === null) throw notConfiguredError()
    return applyRules(rules, await classifyPrompt(gateway, request, model, lines))
  } catch (error) {
    if (!(error instanceof GatewayError) || request.httpRequest.signal.aborted) throw error
    // The message may quote the prompt.
    logOf(gateway, request).warn({ model, code: error.code }, 'prompt not moderated')
    return {
      hits: rules.map((rule) => describeHit(rule, { part: 'moderation', role: null }, ['not_scanned'])),
      error: rules.some(isBlocking) ? toRefusal(error, model) : null,
    }
  }
}

function applyRules(
  rules: readonly AppliedModeration[],
  classifications: readonly Classification[],
): Verdict {
  const matches = rules.flatMap((rule) =>
    classifications.flatMap((input) => {
      const reasons = matchRule(rule, input)
      return reasons ? [{ rule, input, reasons }] : []
    }),
  )
  const blocking = matches.filter(({ rule }) => isBlocking(rule))
  const reasons = [...new Set(blocking.flatMap((match) => match.reasons))]
  const [first] = blocking
  return {
    hits: matches.map(({ rule, input, reasons: kinds }) => describeHit(rule, input, kinds)),
    error: first ? flaggedError(first.input, reasons) : null,
  }
}

/** The flagged categories that count; undefined if the rule does not match. */
function matchRule({ categories: counted }: AppliedModeration, input: Classification): string[] | undefined {
  if (counted === null) return input.isFlagged ? input.categories : undefined
  const flagged = input.categories.filter((category) => counted.includes(category))
  return flagged.length > 0 ? flagged : undefined
}

function isBlocking({ action, isEnforced }: AppliedModeration): boolean {
  return action === 'block' && isEnforced
}

function describeHit(
  { action, isEnforced, layers }: AppliedModeration,
  { part, role }: Pick<Classification, 'part' | 'role'>,
  kinds: string[],
): GuardrailHit {
  return { rule: 'moderation', action, isEnforced, layers, direction: 'input', part, role, count: 1, kinds }
}

function flaggedError({ text, model, provider }: Classification, reasons: string[]): GatewayError {
  const names = reasons.length > 0 ? `: ${reasons.join(', ')}` : ''
  return gatewayError('input_flagged', `The input was flagged by moderation${names}.`, {
    reasons,
    flagged_input: truncateMiddle(text ?? '[image]'),
    provider_name: provider,
    model_slug: model,
  })
}

const maxExcerpt = 100

function truncateMiddle(text: string): string {
  if (text.length <= maxExcerpt) return text
  const half = (maxExcerpt - '...'.length) / 2
  return `${text.slice(0, Math.ceil(half))}...${text.slice(-Math.floor(half))}`.toWellFormed()
}

function notConfiguredError(): GatewayError {
  return gatewayError(
    'moderation_unavailable',
    'A guardrail requires moderation, and no moderation model is configured. Ask the operator to set `moderation.model` in headgate.yaml.',
  )
}

/** Errors that say more than that the model was not reached: a limit of the key, or this gateway's own state. */
const ownErrors: ReadonlySet<ErrorCode> = new Set([
  'body_too_large',
  'credits_exhausted',
  'guardrail_budget_reached',
  'key_limit_reached',
  'member_limit_reached',
  'moderation_unavailable',
  'price_unknown',
  'rate_limited',
  'unavailable',
  'workspace_budget_reached',
])

const failureCauses: Partial<Record<ErrorCode, string>> = {
  guardrail_blocked: 'the guardrails exclude all of its providers',
  no_provider: 'none of its providers meets the requirements of the request',
  no_endpoints: 'it has no provider',
  upstream_timeout: 'it did not reply in time. Retry later',
}

function toRefusal(error: GatewayError, model: string | null): GatewayError {
  if (ownErrors.has(error.code)) return error
  return new GatewayError('moderation_unavailable', {
    message: `The input could not be moderated by ${model}: ${failureCauses[error.code] ?? 'it failed. Retry later'}.`,
    metadata: { model_slug: model },
    cause: error,
  })
}
