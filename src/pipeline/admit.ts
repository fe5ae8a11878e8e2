import { promptEstimate, type Size, sizeOf } from '../call/size.ts'
import type { ErrorCode } from '../error-table.ts'
import { fail, type GatewayError, rateLimited } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import type { Amounts, FreeLimit, LimitKind, Refusal, Wish } from '../ledger/book.ts'
import { ceilingOf } from '../ledger/ceiling.ts'
import { feeOf } from '../ledger/charge.ts'
import { type Draft, type Place, writeDraft } from '../ledger/draft.ts'
import { freeRequestsPerDay, freeRequestsPerMinute } from '../ledger/free.ts'
import type { Window } from '../ledger/meter.ts'
import { usdFromNanos } from '../ledger/money.ts'
import { subjects } from '../ledger/subjects.ts'
import { requestIdOf } from '../lib/request-id.ts'
import { utcDay, utcMinute } from '../lib/time.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { LeftOut } from '../routing/decide.ts'
import type { Asked } from './asked.ts'
import type { Plan } from './route.ts'

/** A request that was let in: where it may go, what is set aside for it, and what its record begins with. */
export interface Admission {
  plan: Plan
  hold: Amounts
  /** Where its charge counts. */
  countsIn: Pick<Wish, 'subjects' | 'day'>
  draft: Draft
}

/**
 * Lets a request in that fits into every limit even in the worst case, and sets aside what that would cost:
 * against all limits at once, and committed, before any provider is asked.
 */
export async function admit(gateway: Gateway, asked: Asked, routed: Plan): Promise<Admission> {
  stopFlood(gateway, asked)
  const { plan, size, asking } = askingOf(gateway, asked, routed)
  return place(gateway, asked, plan, size, asking)
}

type Asking = Pick<Wish, 'amount' | 'byok' | 'free'>

/** What must be set aside for a request, and for which endpoints that is enough. */
export function askingOf(
  gateway: Gateway,
  asked: Asked,
  routed: Plan,
): { plan: Plan; size: Size; asking: Asking } {
  const plan = affordable(gateway, asked, routed)
  const size = sizeIn(asked)
  const hold = worstCase(gateway, size, plan, asked.at)
  return { plan, size, asking: { ...hold, free: freeLimit(asked, plan) } }
}

/** For what nobody charges for: it must be let in, but takes nothing and counts as nothing. */
export function admitFree(gateway: Gateway, asked: Asked, plan: Plan): Promise<Admission> {
  stopFlood(gateway, asked)
  const size = sizeOf(asked.call, asked.body, 0)
  return place(gateway, asked, plan, size, { amount: 0n, byok: 0n, free: null })
}

async function place(
  gateway: Gateway,
  asked: Asked,
  plan: Plan,
  size: Size,
  asking: Asking,
): Promise<Admission> {
  const draft = draftOf(gateway, asked, plan, size)
  const wish = wishOf(asked, asking)
  const refusal = await gateway.ledger.admit({
    op: 'admit',
    wish,
    organizationId: asked.caller.organizationId,
    owner: gateway.node.id,
    expiresAt: new Date(asked.at + gateway.settings.limits.total + graceMs).toISOString(),
    draft: writeDraft(draft),
  })
  if (refusal) throw refused(asked, refusal)
  const { amount, byok, subjects: counted, day } = wish
  return { plan, hold: { amount, byok }, countsIn: { subjects: counted, day }, draft }
}

/** Of the whole body, with what a preset or an earlier response put into it. */
export function sizeIn({ call, body, source }: Asked): Size {
  return sizeOf(call, body, Buffer.byteLength(body === source.body ? source.text : JSON.stringify(body)))
}

export function wishOf(asked: Asked, asking: Asking): Wish {
  const { subjects: meters, limits } = asked.standing
  return { id: asked.id, subjects: meters, day: utcDay(asked.at), limits, ...asking }
}

export function stopFlood({ rates, settings }: Gateway, { caller, at }: Asked): void {
  const { requests_per_minute } = settings.limits
  const message = `A key may send ${requests_per_minute} requests a minute.`
  rates.count(`key ${caller.key.id}`, requests_per_minute, at, message)
}

/** Beyond the longest reply: reading on after a client left, and a database that is away. */
const graceMs = 600_000

/** An endpoint whose price nobody knows cannot be used under a limit: nobody could say whether it is kept. */
function affordable(gateway: Gateway, { standing }: Asked, plan: Plan): Plan {
  const isLimited = standing.limits.some(({ kind }) => kind !== 'credits')
  if (!isLimited) return plan
  const isPriced = ({ endpoint }: Candidate) => pricingOf(gateway, endpoint) !== null
  const candidates = plan.candidates.filter(isPriced)
  if (candidates.length === plan.candidates.length) return plan
  if (candidates.length > 0)
    return { ...plan, candidates, left: [...plan.left, ...unpricedOf(plan, isPriced)] }
  throw fail(
    'price_unknown',
    `The price of ${plan.candidates[0]?.model.id} is not known, and this key has a limit. ` +
      'Ask the operator for a price or for `billing.unknown_price`.',
  )
}

function unpricedOf({ candidates }: Plan, isPriced: (candidate: Candidate) => boolean): LeftOut[] {
  return candidates
    .filter((candidate) => !isPriced(candidate))
    .map(({ model, endpoint, ownKey }) => ({
      model,
      endpoint,
      ownKeyId: ownKey?.id ?? null,
      reason: 'price_unknown',
    }))
}

/** Where a price is unknown, the ceiling the operator gave, if there is one. */
export function pricingOf(gateway: Gateway, endpoint: Candidate['endpoint']) {
  return endpoint.pricing ?? gateway.settings.billing.unknown_price ?? null
}

/**
 * The dearest endpoint the plan may reach. It is one endpoint in the end: where spending with own keys counts too,
 * what is added is not the most of another one.
 */
function worstCase(gateway: Gateway, size: Size, { candidates }: Plan, at: number): Amounts {
  let fromCredits = 0n
  let together = 0n
  for (const candidate of candidates) {
    const { amount, byok } = mostAt(gateway, size, candidate, at)
    if (amount > fromCredits) fromCredits = amount
    if (amount + byok > together) together = amount + byok
  }
  return { amount: fromCredits, byok: together - fromCredits }
}

/** The most a request can cost at one endpoint, or in the default lane where a lane has no room. */
export function mostAt(gateway: Gateway, size: Size, candidate: Candidate, at: number): Amounts {
  const { model, endpoint, ownKey } = candidate
  const asked = ceilingAt(gateway, size, endpoint, at)
  const isLane = endpoint.service_tier !== null
  const otherwise = isLane ? ceilingAt(gateway, size, laneBeside(model, endpoint, null), at) : asked
  const list = asked > otherwise ? asked : otherwise
  return ownKey
    ? { amount: feeOf(list, gateway.settings.billing.byok_fee), byok: list }
    : { amount: list, byok: 0n }
}

function ceilingAt(gateway: Gateway, size: Size, endpoint: Candidate['endpoint'], at: number): bigint {
  return ceilingOf(size, endpoint, at) ?? ceilingOf(size, unpriced(gateway, endpoint), at) ?? 0n
}

/** The endpoint whose prices count when a provider serves in another lane than it was asked for. */
export function laneBeside(
  { endpoints }: Candidate['model'],
  endpoint: Candidate['endpoint'],
  lane: Candidate['endpoint']['service_tier'],
): Candidate['endpoint'] {
  const isServing = ({ provider, upstream_model, service_tier }: Candidate['endpoint']) =>
    provider === endpoint.provider && upstream_model === endpoint.upstream_model && service_tier === lane
  return endpoints.find(isServing) ?? endpoint
}

function unpriced(gateway: Gateway, endpoint: Candidate['endpoint']) {
  return { ...endpoint, pricing: pricingOf(gateway, endpoint) }
}

function freeLimit({ caller, standing, at }: Asked, { candidates }: Plan): FreeLimit | null {
  if (!candidates.some(({ model }) => model.id.endsWith(':free'))) return null
  return {
    subject: subjects.organization(caller.organizationId),
    minute: utcMinute(at),
    perMinute: freeRequestsPerMinute,
    perDay: freeRequestsPerDay(standing.purchased),
  }
}

/** Suffixes can be piled up without end. */
const maxModelLength = 256
const maxAgentLength = 256

function draftOf(gateway: Gateway, asked: Asked, { candidates }: Plan, size: Size): Draft {
  const [first] = candidates
  if (!first) throw new Error('a plan has at least one candidate')
  return {
    generation: generationDraft(asked, size.images),
    first: placeOf(gateway, first, ''),
    promptTokens: promptEstimate(asked.call),
    byokFee: gateway.settings.billing.byok_fee,
  }
}

/** What of a generation is known before it begins. */
function generationDraft(asked: Asked, images: number): Draft['generation'] {
  const { caller, wishes, call, request } = asked
  return {
    id: asked.id,
    organization_id: caller.organizationId,
    workspace_id: caller.key.workspace_id,
    key_id: caller.key.id,
    user_id: caller.userId,
    created_at: new Date(asked.at).toISOString(),
    requested_model: wishes.models[0]?.slice(0, maxModelLength) ?? '',
    dialect: asked.format.name,
    streamed: call.stream ? 1 : 0,
    preset_id: asked.presetId,
    session_id: wishes.sessionId,
    region: asked.region,
    app_url: wishes.app.url,
    app_title: wishes.app.title,
    external_user: wishes.user,
    api_type: 'completions',
    user_agent: request.headers.get('user-agent')?.slice(0, maxAgentLength) ?? null,
    request_id: requestIdOf(request),
    input_images: images,
  }
}

export function placeOf(
  gateway: Gateway,
  { model, endpoint, ownKey }: Candidate,
  upstreamDialect: string,
): Place {
  return {
    model: model.id,
    provider: endpoint.provider.slug,
    endpoint: endpoint.tag,
    upstream_dialect: upstreamDialect,
    is_byok: ownKey ? 1 : 0,
    pricing: pricingOf(gateway, endpoint),
  }
}

export const windowWords = {
  total: 'lifetime',
  day: 'daily',
  week: 'weekly',
  month: 'monthly',
} as const satisfies Record<Window, string>

const limitCodes = {
  credits: 'credits_exhausted',
  key: 'key_limit_reached',
  workspace: 'workspace_budget_reached',
  guardrail: 'guardrail_budget_reached',
} as const satisfies Record<LimitKind, ErrorCode>

const limitNames: Record<LimitKind, (window: string) => string> = {
  credits: () => 'the credits of the account',
  key: (window) => `the ${window} limit of this key`,
  workspace: (window) => `the ${window} budget of the workspace`,
  guardrail: (window) => `the ${window} budget of a guardrail`,
}

export function refused({ at }: Asked, refusal: Refusal): GatewayError {
  if (refusal.reason === 'rate') return tooOften(refusal, at)
  const { kind, window, room, needed } = refusal
  const name = limitNames[kind](windowWords[window])
  const message =
    room === 0n
      ? `Nothing is left of ${name}.`
      : `This request may cost up to $${usdText(needed)}, and $${usdText(room)} is left of ${name}. ` +
        'Lower max_tokens or shorten the prompt.'
  return fail(limitCodes[kind], message, {
    limit: kind,
    interval: windowWords[window],
    remaining: usdFromNanos(room),
    needed: usdFromNanos(needed),
  })
}

/** Without the exponent that very small numbers print with. */
function usdText(nanos: bigint): string {
  const digits = nanos.toString().padStart(10, '0')
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`.replace(/\.?0+$/, '')
}

const minuteMs = 60_000
const dayMs = 86_400_000

function tooOften({ per, limit }: Extract<Refusal, { reason: 'rate' }>, at: number): GatewayError {
  const windowMs = per === 'minute' ? minuteMs : dayMs
  return rateLimited(`Free variants may be asked ${limit} times a ${per}.`, limit, windowMs, at)
}
