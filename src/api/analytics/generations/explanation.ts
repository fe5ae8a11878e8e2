import { z } from 'zod'
import type { RefusedRow } from '../../../analytics/request-log/walk.ts'
import type { Catalog } from '../../../catalog/catalog.ts'
import { splitChoices } from '../../../catalog/split-schema.ts'
import { type HitRow, hitRecord, toHitRecord } from '../../../governance/guardrail-hits.ts'
import { decodeAmount } from '../../../governance/limits/limit-fields.ts'
import { limitMeasures } from '../../../governance/limits/limit-rule.ts'
import { intervalNames } from '../../../inference/hold/limit-error.ts'
import type { RecordedPlan } from '../../../inference/plan/recorded-plan.ts'
import type { LineRow } from '../../../ledger/bill-lines.ts'
import { asNumber, asString, omitUndefined } from '../../../platform/json/json-values.ts'
import { describeError } from './attempt-error.ts'
import { logStatuses } from './filter-values.ts'
import type { NamedLimit } from './nearest-limit.ts'
import { explainPrice, priceRecord } from './price.ts'
import { countAttempts, findBrokenReply, listFailedAttempts } from './provider-responses.ts'
import type { GenerationRow } from './record.ts'
import { describeRemedies } from './remedies.ts'

const text = z.string().nullable()
const milliseconds = z.int().nullable()

const candidate = z.strictObject({
  rank: z.int().describe('The position in the order in which endpoints are tried.'),
  model: z.string(),
  provider: z.string(),
  tag: z.string(),
  why: z.string().describe('The code of the rule that decided its rank.'),
  reason: z.string(),
  share: z.number().optional().describe('How often load balancing ranks it first.'),
  own_key: z.string().optional().describe('The id of the BYOK key.'),
  price: z
    .strictObject({ prompt: z.number(), completion: z.number() })
    .nullable()
    .describe('In USD per million tokens.'),
  outcome: z.enum(['served', 'failed', 'not_tried']),
})

const excluded = z.strictObject({
  model: z.string(),
  provider: z.string(),
  tag: z.string(),
  reason: z.string().describe('The code of the rule that excludes it.'),
  detail: z.string(),
  own_key: z.string().optional(),
})

const attempt = z.strictObject({
  model: z.string(),
  provider: z.string(),
  tag: z.string(),
  status: z.int().nullable().describe('The HTTP status; null if the provider returned none.'),
  outcome: z.string().describe('`completed`, `failed`, `cancelled`, or the kind of failure.'),
  provider_code: text.describe('The error code of the provider.'),
  message: text.describe(
    "The beginning of the provider's error message, without secrets; a general text unless the content of the request is stored. null if there is none, and for problems with the account of the installation unless the caller operates it.",
  ),
  fallback: z
    .string()
    .optional()
    .describe('The reason for which another model was tried next; absent if none was.'),
  started: milliseconds.describe('Milliseconds after the request arrived.'),
  duration: milliseconds,
})

const stage = z.strictObject({
  name: z
    .enum(['gateway', 'rate_queue', 'failed_attempts', 'first_token', 'reply'])
    .describe(
      '`gateway`: until the first request to a provider; `rate_queue`: of that, waiting for the rate of a provider; `failed_attempts`: until the last one; `first_token`: until the provider replied; `reply`: until its end.',
    ),
  started: z.int(),
  duration: z.int(),
})

export const explanationRecord = z
  .strictObject({
    id: z.string(),
    status: z.enum(logStatuses),
    created_at: z.string(),
    requested_model: text,
    error_code: text,
    refusal: z
      .strictObject({
        code: z.string(),
        http_status: z.int(),
        message: z.string(),
        details: z.looseObject({}).describe('The metadata of the error.'),
        remedies: z.array(z.string()).describe('What would have let the request pass.'),
      })
      .nullable()
      .describe('Of a refused request.'),
    routing: z
      .strictObject({
        strategy: z.string(),
        params: z.looseObject({}).describe('The routing options of the request.'),
        rule: z
          .strictObject({ id: z.string(), name: z.string() })
          .nullable()
          .describe('The routing rule that applied.'),
        splits: splitChoices.describe('The targets that were chosen for an alias with weights.'),
        candidates: z.array(candidate),
        excluded: z.array(excluded),
      })
      .nullable()
      .describe('null if the request was not routed, or if its routing decision was not stored.'),
    attempts: z.array(attempt),
    stages: z.array(stage),
    queued: z
      .int()
      .nullable()
      .describe('Milliseconds for which it waited for the rate of a provider; null if it did not.'),
    price: priceRecord.nullable().describe('null for a refused request.'),
    nearest_limit: z
      .strictObject({
        kind: z.string(),
        subject: z
          .string()
          .describe(
            'Whose spending counts: organization, workspace, key or member. `limit:` and its id for a declared limit.',
          ),
        name: z.string().nullable().describe('The name of a declared limit; null if it was deleted.'),
        measure: z.enum(limitMeasures),
        interval: z.string(),
        limit: z.number().nullable().describe('null for the credits of the account.'),
        remaining: z.number().describe('Before the request, in USD or in what is measured.'),
        needed: z.number().describe('What was held or reserved.'),
        left: z.number().describe('After that.'),
      })
      .nullable()
      .describe('The limit that the hold left the least of; null without limits.'),
    guardrail_hits: z.array(hitRecord),
    dropped: z.array(z.string()).describe("Fields that the provider's format cannot carry."),
  })
  .meta({ id: 'RequestExplanation' })

type Explanation = z.input<typeof explanationRecord>

export function explainRefusal(
  row: RefusedRow,
  plan: RecordedPlan | null,
  hits: readonly HitRow[],
): Explanation {
  return {
    id: row.id,
    status: 'refused',
    created_at: row.created_at,
    requested_model: row.requested_model,
    error_code: row.error_code,
    refusal: {
      code: row.error_code,
      http_status: row.http_status,
      message: row.message,
      details: JSON.parse(row.details),
      remedies: describeRemedies(row, plan),
    },
    routing: plan && describeRouting(plan, []),
    attempts: [],
    stages: [{ name: 'gateway', started: 0, duration: row.latency_ms }],
    queued: null,
    price: null,
    nearest_limit: null,
    guardrail_hits: hits.map(toHitRecord),
    dropped: [],
  }
}

interface GenerationDetails {
  plan: RecordedPlan | null
  hits: readonly HitRow[]
  lines: readonly LineRow[]
  nearest: NamedLimit | null
  /** Whether the caller may see what providers say about the accounts of the installation. */
  isOperator: boolean
}

export function explainGeneration(
  catalog: Catalog,
  row: GenerationRow,
  { plan, hits, lines, nearest, isOperator }: GenerationDetails,
): Explanation {
  const attempts = listAttempts(catalog, row, isOperator)
  return {
    id: row.id,
    status: row.status,
    created_at: row.created_at,
    requested_model: row.requested_model,
    error_code: row.error_code,
    refusal: null,
    routing: plan && describeRouting(plan, attempts),
    attempts,
    stages: listStages(row, attempts),
    queued: row.queued_ms,
    price: explainPrice(catalog, row, plan, lines),
    nearest_limit: nearest && describeLimit(nearest),
    guardrail_hits: hits.map(toHitRecord),
    dropped: row.dropped === null ? [] : JSON.parse(row.dropped),
  }
}

type Attempt = z.input<typeof attempt>

function describeRouting(
  { strategy, params, rule, splits = [], endpoints }: RecordedPlan,
  attempts: readonly Attempt[],
): NonNullable<Explanation['routing']> {
  return {
    strategy,
    params: params ?? {},
    rule: rule ?? null,
    splits: [...splits],
    candidates: endpoints.available.map(({ selected: _, health: _unknown, ...endpoint }) => ({
      ...endpoint,
      outcome: findOutcome(endpoint, attempts),
    })),
    excluded: endpoints.excluded,
  }
}

function findOutcome({ tag, model }: { tag: string; model: string }, attempts: readonly Attempt[]) {
  const last = attempts.findLast((one) => one.tag === tag && one.model === model)
  if (!last) return 'not_tried'
  return last.outcome === 'completed' || last.outcome === 'cancelled' ? 'served' : 'failed'
}

/** The failed attempts, then the one that replied or was in progress at the end. */
function listAttempts({ providerByName }: Catalog, row: GenerationRow, isOperator: boolean): Attempt[] {
  const provider = providerByName.get(row.provider)?.name ?? row.provider
  const failed = listFailedAttempts(row).map((one) => ({
    model: asString(one.model) ?? row.model,
    provider: asString(one.provider) ?? '',
    tag: asString(one.endpoint) ?? '',
    status: asNumber(one.status) ?? null,
    outcome: asString(one.code) ?? 'failed',
    ...describeError(one, isOperator || one.own_key === true),
    ...omitUndefined({ fallback: asString(one.fallback) }),
    started: asNumber(one.at) ?? null,
    duration: asNumber(one.ms) ?? null,
  }))
  if (countAttempts(row, provider) === failed.length) return failed
  const { dispatch_ms, latency_ms } = row
  const last = {
    model: row.model,
    provider,
    tag: row.endpoint,
    status: row.status === 'completed' ? 200 : null,
    outcome: row.status,
    ...describeError(findBrokenReply(row) ?? {}, isOperator || row.is_byok === 1),
    started: dispatch_ms,
    duration: dispatch_ms === null ? null : Math.max(0, latency_ms - dispatch_ms),
  }
  return [...failed, last]
}

/** Lists the stages of a request whose times are known. */
function listStages(row: GenerationRow, attempts: readonly Attempt[]): Explanation['stages'] {
  const { dispatch_ms, first_token_ms, latency_ms, queued_ms } = row
  if (dispatch_ms === null) return []
  const first = attempts[0]?.started ?? dispatch_ms
  // Between attempts, the time is part of theirs.
  const queued = first === dispatch_ms ? Math.min(first, queued_ms ?? 0) : 0
  const ends = [
    ['gateway', first - queued],
    ['rate_queue', first],
    ['failed_attempts', dispatch_ms],
    ['first_token', first_token_ms ?? dispatch_ms],
    ['reply', latency_ms],
  ] as const
  return ends.flatMap(([name, end], index) => {
    const started = ends[index - 1]?.[1] ?? 0
    return end > started || name === 'gateway' ? [{ name, started, duration: end - started }] : []
  })
}

function describeLimit({
  kind,
  subject,
  name,
  measure,
  window,
  amount,
  available,
  needed,
}: NamedLimit): NonNullable<Explanation['nearest_limit']> {
  return {
    kind,
    subject,
    name,
    measure,
    interval: intervalNames[window],
    // Account totals are visible to management keys only.
    limit: kind === 'credits' ? null : decodeAmount(measure, amount),
    remaining: decodeAmount(measure, available),
    needed: decodeAmount(measure, needed),
    left: decodeAmount(measure, available - needed),
  }
}
