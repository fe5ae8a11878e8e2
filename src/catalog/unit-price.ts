import type { Billable, BilledUnits, BillingUnit } from '../formats/call/units.ts'

/** The price of one unit. A row with a `variant` applies to that size, quality or resolution. */
export interface UnitPrice {
  billable: Billable
  unit: BillingUnit
  variant?: string | undefined
  /** A decimal string. */
  cost_usd: string
}

/**
 * The row that a quantity is billed by: that of the most specific variant, or the one without a variant. If there is
 * neither, the provider did not say which of its prices applies, and the highest does.
 */
export function findUnitPrice<P extends Pick<UnitPrice, 'billable' | 'unit' | 'variant'> & { rate: bigint }>(
  prices: readonly P[],
  { billable, unit, variants, known = [] }: BilledUnits,
): P | undefined {
  const rows = prices.filter((price) => price.billable === billable && price.unit === unit)
  if (variants === 'any') {
    const possible = rows.filter(({ variant }) => variant === undefined || isPossible(variant, known))
    return highest(possible) ?? highest(rows)
  }
  for (const variant of variants) {
    const row = rows.find((price) => price.variant === variant)
    if (row) return row
  }
  return rows.find(({ variant }) => variant === undefined) ?? highest(rows)
}

/** Whether a variant, such as `high 1024x1024`, names no other size, resolution or quality than the known ones. */
function isPossible(variant: string, known: readonly string[]): boolean {
  return variant
    .split(' ')
    .every((part) => known.includes(part) || !known.some((name) => kindOf(name) === kindOf(part)))
}

function kindOf(part: string): 'size' | 'resolution' | 'quality' {
  if (/^\d+x\d+$/.test(part)) return 'size'
  return /^(?:512|\dK)$/.test(part) ? 'resolution' : 'quality'
}

function highest<P extends { rate: bigint }>(rows: readonly P[]): P | undefined {
  return rows.reduce<P | undefined>((best, row) => (best && best.rate >= row.rate ? best : row), undefined)
}
