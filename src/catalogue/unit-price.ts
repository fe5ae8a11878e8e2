import type { Billable, BilledUnits, BillingUnit } from '../call/units.ts'

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
  { billable, unit, variants }: BilledUnits,
): P | undefined {
  const rows = prices.filter((price) => price.billable === billable && price.unit === unit)
  if (variants === 'any') return highest(rows)
  for (const variant of variants) {
    const row = rows.find((price) => price.variant === variant)
    if (row) return row
  }
  return rows.find(({ variant }) => variant === undefined) ?? highest(rows)
}

function highest<P extends { rate: bigint }>(rows: readonly P[]): P | undefined {
  return rows.reduce<P | undefined>((best, row) => (best && best.rate >= row.rate ? best : row), undefined)
}
