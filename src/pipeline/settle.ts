import type { Call } from '../call/call.ts'
import { type Bill, completionTokens, noTokens, promptTokens, type Usage } from '../call/usage.ts'
import type { Endpoint } from '../catalog/model.ts'
import type { Statement } from '../db/batch.ts'
import type { GenerationStatus, UsageSource } from '../db/schema.ts'
import type { Seen } from '../dialects/dialect.ts'
import { GatewayError } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import { type Cost, costOf, noCost } from '../ledger/cost.ts'
import type { Generation } from '../ledger/generations.ts'
import { nanosFromUsd, usdFromNanos } from '../ledger/money.ts'
import type { Asked } from './asked.ts'
import type { Journey } from './dispatch.ts'
import type { FailedAttempt } from './failure.ts'

/** What a reply consumed and costs: known before the client is told that it is over. */
export interface Charge {
  usage: Usage
  source: UsageSource
  cost: Cost
}

/** How a request ended. */
export interface Outcome {
  status: GenerationStatus
  charge: Charge
  seen: Seen | null
  error: GatewayError | null
  firstTokenMs: number | null
}

export const nothingCharged: Charge = { usage: noTokens, source: 'none', cost: noCost }

/**
 * The vendor's own count, or ours where it gave none. A reply without any output that has no finish, or an
 * error for one, is free.
 */
export function chargeOf(asked: Asked, endpoint: Endpoint, seen: Seen): Charge {
  const { usage, source } = usageOf(asked.call, seen)
  const nothing = completionTokens(usage) === 0 && seen.finishes.length === 0
  if (nothing || endedBadly(seen)) return { usage, source, cost: noCost }
  return { usage, source, cost: costOf(usage, endpoint.pricing, asked.at) }
}

export function endedBadly(seen: Seen): boolean {
  return seen.finishes.some((finish) => finish?.reason === 'error')
}

/** More than any model takes or gives: whoever counts so far does not count tokens. */
const mostTokens = 50_000_000

function usageOf(call: Call, seen: Seen): Pick<Charge, 'usage' | 'source'> {
  const told = seen.usage
  const isCredible = told !== null && promptTokens(told) <= mostTokens && completionTokens(told) <= mostTokens
  if (told === null || !isCredible) return { usage: estimate(call, seen), source: 'estimated' }
  if (seen.complete) return { usage: told, source: 'reported' }
  // What is told along the way is not the end of it: some vendors begin with a count of one.
  const more = Math.ceil(seen.characters / 4) - completionTokens(told)
  return { usage: { ...told, output: told.output + Math.max(0, more) }, source: 'estimated' }
}

function estimate(call: Call, seen: Seen): Usage {
  return {
    ...noTokens,
    input: promptEstimate(call),
    output: Math.ceil(seen.characters / 4),
  }
}

/** Four characters a token, where nobody counted. */
export function promptEstimate(call: Call): number {
  return Math.ceil(promptLength(call) / 4)
}

function promptLength({ messages, tools }: Call): number {
  let length = 0
  for (const { parts } of messages) {
    for (const part of parts) {
      if ('text' in part) length += part.text.length
      else if (part.kind === 'tool-call') length += part.arguments.length
      else if (part.kind === 'tool-result') {
        for (const inner of part.content) if (inner.kind === 'text') length += inner.text.length
      }
    }
  }
  return tools ? length + JSON.stringify(tools).length : length
}

export function billOf({ cost }: Charge): Bill {
  return {
    cost: usdFromNanos(cost.total),
    isByok: false,
    upstreamCost: usdFromNanos(cost.total),
    upstreamPromptCost: usdFromNanos(cost.prompt),
    upstreamCompletionCost: usdFromNanos(cost.completion),
  }
}

/** Settles a request. Whatever ends it first counts; later calls wait for that and change nothing. */
export type Close = (outcome: Outcome, companions?: Statement[]) => Promise<void>

export function closing(gateway: Gateway, asked: Asked, journey: Journey): Close {
  let closed: Promise<void> | undefined
  return (outcome, companions) => {
    closed ??= settle(gateway, asked, journey, outcome, companions)
    return closed
  }
}

/** Records the end of a request, durably. */
async function settle(
  gateway: Gateway,
  asked: Asked,
  journey: Journey,
  outcome: Outcome,
  companions?: Statement[],
): Promise<void> {
  const row = generationOf(asked, journey, outcome)
  if (!row) return
  try {
    await gateway.settlements.settle(row, companions)
  } catch (cause) {
    gateway.log.error({ err: cause, id: asked.id }, 'settlement failed')
    throw new GatewayError('unavailable', { cause })
  }
}

/** Suffixes can be piled up without end. */
const maxModelLength = 256

/** Null when the request never reached a provider: there is nothing to account for. */
function generationOf(asked: Asked, journey: Journey, outcome: Outcome): Generation | null {
  const { candidate, translation } = journey
  if (!candidate || !translation) return null
  const { caller, wishes } = asked
  const { charge, seen } = outcome
  const [finish] = seen?.finishes ?? []
  const { dropped } = translation.request
  return {
    id: asked.id,
    organization_id: caller.organizationId,
    workspace_id: caller.key.workspace_id,
    key_id: caller.key.id,
    user_id: caller.userId,
    created_at: new Date(asked.at).toISOString(),
    requested_model: wishes.models[0]?.slice(0, maxModelLength) ?? '',
    model: candidate.model.id,
    provider: candidate.endpoint.provider.slug,
    endpoint: candidate.endpoint.tag,
    dialect: asked.format.name,
    upstream_dialect: translation.dialect.name,
    streamed: asked.call.stream ? 1 : 0,
    status: outcome.status,
    error_code: outcome.error?.code ?? null,
    finish_reason: finish?.reason ?? null,
    native_finish_reason: finish?.native?.slice(0, 100).replaceAll('\0', '') ?? null,
    ...tokensOf(charge),
    is_byok: 0,
    latency_ms: Math.round(performance.now() - asked.startedAt),
    first_token_ms: outcome.firstTokenMs === null ? null : Math.round(outcome.firstTokenMs),
    attempts: journey.attempts.length === 0 ? '[]' : JSON.stringify(journey.attempts.map(attemptRecord)),
    dropped: dropped.length === 0 ? null : JSON.stringify(dropped),
    preset_id: asked.presetId,
    session_id: wishes.sessionId,
    region: asked.region,
    app_url: wishes.app.url,
    app_title: wishes.app.title,
    external_user: wishes.user,
  }
}

function attemptRecord({ provider, failure }: FailedAttempt) {
  return { provider, code: failure.kind, status: failure.status }
}

function tokensOf({ usage, source, cost }: Charge) {
  return {
    tokens_input: usage.input,
    tokens_cache_read: usage.cacheRead,
    tokens_cache_write: usage.cacheWrite,
    tokens_cache_write_1h: usage.cacheWrite1h,
    tokens_input_audio: usage.inputAudio,
    tokens_input_image: usage.inputImage,
    tokens_input_video: usage.inputVideo,
    tokens_output: usage.output,
    tokens_reasoning: usage.reasoning,
    tokens_output_audio: usage.outputAudio,
    tokens_output_image: usage.outputImage,
    web_searches: usage.webSearches,
    usage_source: source,
    cost_nanos: cost.total,
    upstream_cost_nanos: cost.total,
    reported_cost_nanos: reportedNanos(usage.reportedCost),
  }
}

/** A vendor's number, as near as nano-dollars come to it. */
function reportedNanos(usd: number | null): bigint | null {
  if (usd === null || !(usd >= 0) || usd > 1e6) return null
  return nanosFromUsd(usd.toFixed(9)) ?? null
}
