import type { TaskName } from '../../formats/vocabulary.ts'
import type { LimitMeasure, LimitWindow } from '../../governance/limits/limit-rule.ts'
import { estimateWait, locateInWindow } from '../../governance/limits/window.ts'
import type { Limit, LimitKind, Rejection } from '../../ledger/ledger-state.ts'
import type { Window } from '../../ledger/meter.ts'
import { GatewayError, gatewayError, rateLimitError } from '../../platform/errors/gateway-error.ts'
import type { ErrorCode } from '../../platform/errors/table.ts'
import { usdFromNanos } from '../../platform/money/money.ts'
import type { Shortfall } from './limit-reservation.ts'
import { buildRateHeaders } from './rate-headers.ts'

export const windowNames = {
  total: 'lifetime',
  day: 'daily',
  week: 'weekly',
  month: 'monthly',
} as const satisfies Record<Window, string>

export const intervalNames = {
  second: 'second',
  minute: 'minute',
  hour: 'hour',
  day: windowNames.day,
  week: windowNames.week,
  month: windowNames.month,
  lifetime: windowNames.total,
} as const satisfies Record<LimitWindow, string>

const limitCodes = {
  credits: 'credits_exhausted',
  key: 'key_limit_reached',
  member: 'member_limit_reached',
  workspace: 'workspace_budget_reached',
  guardrail: 'guardrail_budget_reached',
  limit: 'limit_reached',
} as const satisfies Record<LimitKind, ErrorCode>

const limitCodeSet: ReadonlySet<ErrorCode> = new Set(Object.values(limitCodes))

/** The request that a limit does not allow. */
export interface LimitedRequest {
  /** Arrival, in milliseconds since the epoch. */
  at: number
  format: { task: TaskName }
}

/** Whether the error is that of a spending limit which does not allow what a request needs. */
export function isLimitError(error: unknown): error is GatewayError {
  return error instanceof GatewayError && limitCodeSet.has(error.code)
}

const limitNames: Record<LimitKind, (window: string, name?: string) => string> = {
  credits: () => "the account's credits",
  key: (window) => `the ${window} limit of this key`,
  member: (window) => `the ${window} limit of the member who created this key`,
  workspace: (window) => `the ${window} budget of the workspace`,
  guardrail: (window) => `the ${window} budget of a guardrail`,
  limit: (window, name) => `the ${window} limit "${name}"`,
}

const limitReachedMessages: Record<LimitKind, (window: string, name?: string) => string> = {
  credits: () => 'The account has no credits left. Add credits to continue.',
  key: (window) => `The ${window} limit of this key is reached.`,
  member: (window) =>
    `The ${window} limit of the member who created this key is reached. An admin can raise it.`,
  workspace: (window) => `The ${window} budget of the workspace is reached.`,
  guardrail: (window) => `The ${window} budget of a guardrail is reached.`,
  limit: (window, name) => `The ${window} limit "${name}" is reached.`,
}

/** Who may raise a declared limit. */
const whoMayRaise = 'Members with the permission budgets:write can raise it.'

/** Advice on making a request of each task cheaper. */
const savingAdvice: Record<TaskName, string> = {
  text: 'Lower max_tokens or shorten the prompt.',
  embeddings: 'Send fewer or shorter inputs.',
  rerank: 'Send fewer or shorter documents.',
  moderations: 'Send fewer or shorter inputs.',
  images: 'Request fewer or smaller images, or a lower quality.',
  speech: 'Shorten the input.',
  transcriptions: 'Send a shorter recording.',
  video: 'Request a shorter or smaller video.',
  passthrough: 'Lower the output limit of the request.',
}

export function limitError({ at, format }: LimitedRequest, rejection: Rejection): GatewayError {
  if (rejection.reason === 'rate') return freeRateLimitError(rejection, at)
  const { kind, window, available, needed, limit } = rejection
  const message =
    available === 0n
      ? limitReachedMessages[kind](windowNames[window], limit.name)
      : `This request may cost up to $${formatUsd(roundUp(needed))}, but only $${formatUsd(roundDown(available))} remains of ${limitNames[kind](windowNames[window], limit.name)}. ` +
        savingAdvice[format.task]
  const amounts = {
    limit: kind,
    interval: windowNames[window],
    remaining: usdFromNanos(available),
    needed: usdFromNanos(needed),
  }
  return kind === 'limit'
    ? declaredLimitError(message, amounts, limit, at)
    : gatewayError(limitCodes[kind], message, amounts)
}

function declaredLimitError(
  message: string,
  amounts: Record<string, unknown>,
  { subject, name, window }: Limit,
  at: number,
): GatewayError {
  const { end } = locateInWindow(declaredWindows[window], at)
  const headers = end === null ? {} : { 'retry-after': String(Math.ceil((end - at) / 1000)) }
  const reset = end === null ? '' : ` It resets at ${new Date(end).toISOString()}.`
  return new GatewayError('limit_reached', {
    message: `${message}${reset} ${whoMayRaise}`,
    metadata: { ...amounts, limit_id: subject.split(':')[1], limit_name: name },
    headers,
  })
}

const declaredWindows = { total: 'lifetime', day: 'day', week: 'week', month: 'month' } as const

const measureNames: Record<LimitMeasure, string> = {
  usd: 'US dollars',
  requests: 'requests',
  tokens: 'tokens',
  input_tokens: 'input tokens',
  output_tokens: 'output tokens',
  concurrent_requests: 'concurrent requests',
}

/** The error of a limit on requests, tokens, concurrency or short-term dollars. */
export function shortfallError({ applied, position, needed, used }: Shortfall, at: number): GatewayError {
  const { id, name, measure, window, amount } = applied.rule
  const limit = measure === 'usd' ? usdFromNanos(amount) : Number(amount)
  const size = measure === 'usd' ? `$${formatUsd(amount)}` : `${limit} ${measureNames[measure]}`
  const wait = position
    ? estimateWait(position, { limit: Number(amount), used, amount: needed, now: at })
    : 1000
  const seconds = wait === null ? null : Math.max(1, Math.ceil(wait / 1000))
  const remedy = seconds === null ? '' : ` Retry after ${seconds} s.`
  const rest = Math.max(0, Number(amount) - used)
  return new GatewayError(measure === 'usd' ? 'limit_reached' : 'rate_limited', {
    message: `The limit "${name}" of ${size}${window ? ` per ${window}` : ''} is reached.${remedy} ${whoMayRaise}`,
    metadata: {
      limit: 'limit',
      limit_id: id,
      limit_name: name,
      measure,
      interval: window,
      remaining: measure === 'usd' ? rest / 1e9 : rest,
      needed: measure === 'usd' ? needed / 1e9 : needed,
    },
    headers: {
      ...(seconds !== null && { 'retry-after': String(seconds) }),
      ...(position && buildRateHeaders([{ applied, position, take: { used } }])),
    },
  })
}

const dollar = 1_000_000_000n
const cent = dollar / 100n

/** From a dollar on to cents. What is needed is rounded up and what remains down: one must not read as the other. */
function roundUp(nanos: bigint): bigint {
  return nanos < dollar ? nanos : ((nanos + cent - 1n) / cent) * cent
}

function roundDown(nanos: bigint): bigint {
  return nanos < dollar ? nanos : (nanos / cent) * cent
}

/** Formats an amount without an exponent, which JavaScript prints very small numbers with. */
function formatUsd(nanos: bigint): string {
  const digits = nanos.toString().padStart(10, '0')
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`.replace(/\.?0+$/, '')
}

const minuteMs = 60_000
const dayMs = 86_400_000

function freeRateLimitError(
  { per, limit }: Extract<Rejection, { reason: 'rate' }>,
  at: number,
): GatewayError {
  const windowMs = per === 'minute' ? minuteMs : dayMs
  return rateLimitError(
    `Rate limit of free models reached: ${limit} requests per ${per}.`,
    limit,
    windowMs,
    at,
  )
}
