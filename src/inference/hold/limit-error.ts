import type { TaskName } from '../../formats/vocabulary.ts'
import type { LimitKind, Rejection } from '../../ledger/ledger-state.ts'
import type { Window } from '../../ledger/meter.ts'
import { GatewayError, gatewayError, rateLimitError } from '../../platform/errors/gateway-error.ts'
import type { ErrorCode } from '../../platform/errors/table.ts'
import { usdFromNanos } from '../../platform/money/money.ts'

export const windowNames = {
  total: 'lifetime',
  day: 'daily',
  week: 'weekly',
  month: 'monthly',
} as const satisfies Record<Window, string>

const limitCodes = {
  credits: 'credits_exhausted',
  key: 'key_limit_reached',
  member: 'member_limit_reached',
  workspace: 'workspace_budget_reached',
  guardrail: 'guardrail_budget_reached',
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

const limitNames: Record<LimitKind, (window: string) => string> = {
  credits: () => "the account's credits",
  key: (window) => `the ${window} limit of this key`,
  member: (window) => `the ${window} limit of the member who created this key`,
  workspace: (window) => `the ${window} budget of the workspace`,
  guardrail: (window) => `the ${window} budget of a guardrail`,
}

const limitReachedMessages: Record<LimitKind, (window: string) => string> = {
  credits: () => 'The account has no credits left. Add credits to continue.',
  key: (window) => `The ${window} limit of this key is reached.`,
  member: (window) =>
    `The ${window} limit of the member who created this key is reached. An admin can raise it.`,
  workspace: (window) => `The ${window} budget of the workspace is reached.`,
  guardrail: (window) => `The ${window} budget of a guardrail is reached.`,
}

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
}

export function limitError({ at, format }: LimitedRequest, rejection: Rejection): GatewayError {
  if (rejection.reason === 'rate') return freeRateLimitError(rejection, at)
  const { kind, window, available, needed } = rejection
  const message =
    available === 0n
      ? limitReachedMessages[kind](windowNames[window])
      : `This request may cost up to $${formatUsd(needed)}, but only $${formatUsd(available)} remains of ${limitNames[kind](windowNames[window])}. ` +
        savingAdvice[format.task]
  return gatewayError(limitCodes[kind], message, {
    limit: kind,
    interval: windowNames[window],
    remaining: usdFromNanos(available),
    needed: usdFromNanos(needed),
  })
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
