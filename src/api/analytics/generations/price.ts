import { z } from 'zod'
import type { Catalog } from '../../../catalog/catalog.ts'
import type { EndpointPricing } from '../../../catalog/price.ts'
import type { BilledUnits } from '../../../formats/call/units.ts'
import type { RecordedPlan } from '../../../inference/plan/recorded-plan.ts'
import type { LineRow } from '../../../ledger/bill-lines.ts'
import { computeCost } from '../../../ledger/cost.ts'
import { amountDecimals, type CostLine, itemizeCost, sumAmounts } from '../../../ledger/cost-lines.ts'
import { readUsage } from '../../../ledger/generation.ts'
import { rateDecimals } from '../../../ledger/rates.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import type { GenerationRow } from './record.ts'

const priceLine = z.strictObject({
  kind: z
    .string()
    .describe(
      'What is priced: `input`, `output`, `cache_read`, ... tokens; `image`, `request`, `web_search` and other units; `turn`, `tool` and `plugin` of a request with several steps; `discount`; `paid_to_provider`, `byok_fee`: with a BYOK key; `capped`: what exceeds the hold; `not_itemized`: the prices at the time are not known; `rounding` to nano-dollars.',
    ),
  name: z.string().nullable().describe('The model, tool or plugin of a step.'),
  quantity: z.number(),
  unit: z.string(),
  rate: z.string().nullable().describe('In USD for one unit; null for a line without one.'),
  amount: z.string().describe('In USD, exact.'),
})

export const priceRecord = z.strictObject({
  hold: z.number().describe('What was reserved for the worst case, in USD.'),
  lines: z.array(priceLine).describe('Their sum is `charge`, exactly.'),
  list_cost: z.number().describe('The cost at the prices of the endpoint, in USD.'),
  charge: z.number().describe('What was charged, in USD.'),
  released: z.number().describe('What was held and not charged, in USD.'),
})

type PriceLine = z.input<typeof priceLine>

/** A nano-dollar, in the unit of exact amounts. */
const nano = 10n ** BigInt(amountDecimals - 9)

/** Explains how the charge was computed. */
export function explainPrice(
  catalog: Catalog,
  row: GenerationRow,
  plan: RecordedPlan | null,
  bill: readonly LineRow[],
): z.input<typeof priceRecord> {
  const steps = bill.filter(({ kind }) => kind !== 'request')
  const lines = steps.length > 0 ? steps.map(toStepLine) : listLines(catalog, row, plan)
  const total = lines.reduce((sum, { amount }) => sum + amount, 0n)
  const rounding = row.cost_nanos * nano - total
  return {
    hold: usdFromNanos(row.hold_nanos),
    lines: [...lines, ...toExtra('rounding', rounding)].map(toPriceLine),
    list_cost: usdFromNanos(row.upstream_cost_nanos),
    charge: usdFromNanos(row.cost_nanos),
    released: usdFromNanos(row.hold_nanos > row.cost_nanos ? row.hold_nanos - row.cost_nanos : 0n),
  }
}

type Line = CostLine & { name?: string }

function listLines(catalog: Catalog, row: GenerationRow, plan: RecordedPlan | null): Line[] {
  const { cost_nanos, upstream_cost_nanos } = row
  const listed = itemizeListCost(catalog, row, plan)
  if (row.is_byok === 1)
    return [
      ...listed,
      ...toExtra('paid_to_provider', -sumAmounts(listed)),
      ...toExtra('byok_fee', cost_nanos * nano),
    ]
  const excess = upstream_cost_nanos - cost_nanos
  return [...listed, ...toExtra('capped', -excess * nano)]
}

/** The prices that result in the cost on record: those of the plan, or if they are not stored, those of today. */
function itemizeListCost(catalog: Catalog, row: GenerationRow, plan: RecordedPlan | null): Line[] {
  const listCost = row.upstream_cost_nanos
  if (listCost === 0n) return []
  const usage = readUsage(row)
  const at = Date.parse(row.created_at)
  const units: BilledUnits[] = row.billed_units === null ? [] : JSON.parse(row.billed_units)
  const used = { images: row.input_images, units }
  const isCharged = (pricing: EndpointPricing) => computeCost(usage, pricing, at, used).total === listCost
  const pricing = listPrices(catalog, row, plan).find(isCharged)
  return pricing ? itemizeCost(usage, pricing, at, used) : toExtra('not_itemized', listCost * nano)
}

function listPrices(
  { bySlug }: Catalog,
  { model, provider, endpoint }: GenerationRow,
  plan: RecordedPlan | null,
): EndpointPricing[] {
  const planned = plan?.endpoints.available.flatMap((candidate, index) =>
    candidate.tag === endpoint && candidate.model === model ? (plan.pricing[index] ?? []) : [],
  )
  const current = bySlug.get(model)?.endpoints.filter((one) => one.provider.slug === provider) ?? []
  return [...(planned ?? []), ...current.flatMap(({ pricing }) => pricing ?? [])]
}

function toStepLine({ kind, name, quantity, cost_nanos }: LineRow): Line {
  return { kind, name, quantity, unit: 'step', rate: null, amount: cost_nanos * nano }
}

/** Builds a line of an extra amount; none if it is zero. */
function toExtra(kind: string, amount: bigint): Line[] {
  return amount === 0n ? [] : [{ kind, quantity: 1, unit: 'amount', rate: null, amount }]
}

function toPriceLine({ kind, name, quantity, unit, rate, amount }: Line): PriceLine {
  return {
    kind,
    name: name ?? null,
    quantity,
    unit,
    rate: rate === null ? null : formatDecimal(rate, rateDecimals),
    amount: formatDecimal(amount, amountDecimals),
  }
}

/** Formats a decimal without an exponent and without trailing zeros. */
function formatDecimal(value: bigint, decimals: number): string {
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, '0')
  const text = `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`.replace(/\.?0+$/, '')
  return value < 0n ? `-${text}` : text
}
