import { formatPerMillion } from '../format/price.ts'

/** A price of the API in dollars per million tokens, with the exact value of the API on hover. */
export function Price({ value }: { value: string | undefined }) {
  if (value === undefined || value.startsWith('-')) return <>–</>
  return (
    <span title={`$${value} each`} style={{ fontVariantNumeric: 'tabular-nums' }}>
      {formatPerMillion(value)}
    </span>
  )
}
