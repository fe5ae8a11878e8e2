import { z } from 'zod'
import { windowNames } from '../../../inference/hold/limit-error.ts'
import { evaluateLimit, type Limit, type LimitStatus } from '../../../ledger/ledger-state.ts'
import type { Meter, Window } from '../../../ledger/meter.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { findWindowBounds, forecastSpend } from './forecast.ts'

const forecast = z
  .number()
  .nullable()
  .describe(
    'What is spent at the end of the window, in USD, if spending continues at its average so far; null in the first twentieth of a window, and for `lifetime`, which has no end.',
  )
const resetsAt = z.string().nullable().describe('When the window ends; null for `lifetime`.')

const windowRecord = z.strictObject({
  interval: z.enum(['daily', 'weekly', 'monthly', 'lifetime']),
  spent: z.number().describe('Charged to credits, in USD.'),
  byok_spent: z.number().describe('The list price of requests with BYOK keys, in USD.'),
  held: z.number().describe('Held for requests that are running, in USD.'),
  byok_held: z.number(),
  resets_at: resetsAt,
  forecast,
})

export const limitRecord = z
  .strictObject({
    kind: z.enum(['credits', 'key', 'member', 'workspace', 'guardrail', 'limit']),
    node_id: z.string().describe('The node whose spending counts.'),
    guardrail_id: z.string().nullable().describe('Of a budget of a guardrail.'),
    interval: z.enum(['daily', 'weekly', 'monthly', 'lifetime']),
    include_byok: z.boolean(),
    limit: z
      .number()
      .nullable()
      .describe('In USD. The amounts of `credits` are null for callers who may read only some workspaces.'),
    spent: z.number().nullable(),
    held: z.number().nullable(),
    remaining: z.number(),
    resets_at: resetsAt,
    forecast,
  })
  .meta({ id: 'BudgetLimit' })

export const budgetNode = z
  .strictObject({
    id: z.string().describe('The `parent` that lists what is below it.'),
    kind: z.enum(['organization', 'workspace', 'member', 'key']),
    name: z.string().nullable().describe('null for the keys that no member created.'),
    workspace_id: z.string().nullable(),
    user_id: z.string().nullable(),
    key_hash: z.string().nullable(),
    disabled: z.boolean().describe('Whether a key is disabled, or its member deactivated.'),
    windows: z.array(windowRecord),
    limits: z.array(limitRecord).describe('The limits on the spending of this node.'),
    blocks_first: limitRecord
      .nullable()
      .describe(
        'Of a key: the limit with the least left, of the key itself and of everything above it. It refuses a request first. null for other nodes.',
      ),
  })
  .meta({ id: 'BudgetNode' })

export type BudgetNode = z.input<typeof budgetNode>
export type LimitRecord = z.input<typeof limitRecord>

/** A limit, and what it is called. */
export interface NodeLimit {
  limit: Limit
  nodeId: string
  guardrailId: string | null
  /** The amounts are not for this caller; what is left is. */
  isHidden?: boolean
}

/** Shortest first. */
const windows: readonly Window[] = ['day', 'week', 'month', 'total']

export function toWindowRecords(meter: Meter, now: number): BudgetNode['windows'] {
  return windows.map((window) => ({
    interval: windowNames[window],
    spent: usdFromNanos(meter.spent[window]),
    byok_spent: usdFromNanos(meter.byok[window]),
    held: usdFromNanos(meter.held[window]),
    byok_held: usdFromNanos(meter.heldByok[window]),
    ...toOutlook(window, meter.spent[window], now),
  }))
}

function toOutlook(window: Window, spent: bigint, now: number) {
  const bounds = findWindowBounds(window, now)
  const expected = forecastSpend(window, spent, now)
  return {
    resets_at: bounds && new Date(bounds.end).toISOString(),
    forecast: expected === null ? null : usdFromNanos(expected),
  }
}

const noRequest = { amount: 0n, byok: 0n }

export function statusOf({ limit }: NodeLimit, meter: Meter): LimitStatus {
  return evaluateLimit(limit, meter, noRequest)
}

export function toLimitRecord(named: NodeLimit, meter: Meter, now: number): LimitRecord {
  const { limit, nodeId, guardrailId, isHidden = false } = named
  const { spent, held, available } = statusOf(named, meter)
  return {
    kind: limit.kind,
    node_id: nodeId,
    guardrail_id: guardrailId,
    interval: windowNames[limit.window],
    include_byok: limit.includeByok,
    limit: isHidden ? null : usdFromNanos(limit.amount),
    spent: isHidden ? null : usdFromNanos(spent),
    held: isHidden ? null : usdFromNanos(held),
    remaining: usdFromNanos(available),
    ...toOutlook(limit.window, spent, now),
  }
}
