import { formatExactMoney, formatMoney } from '../format/money.ts'

/** Dollars to the digits that matter, with all of them on hover. */
export function Money({ value }: { value: number | null | undefined }) {
  if (value === null || value === undefined) return <>–</>
  return (
    <span title={formatExactMoney(value)} style={{ fontVariantNumeric: 'tabular-nums' }}>
      {formatMoney(value)}
    </span>
  )
}
