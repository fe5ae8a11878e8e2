import { Tooltip } from '@mantine/core'
import { formatPerMillion } from '../format/price.ts'

/** A price of the API in dollars per million tokens, with the exact value for one on hover. */
export function Price({ value }: { value: string | undefined }) {
  if (value === undefined || value.startsWith('-')) return <>–</>
  return (
    <Tooltip label={`$${value} a token`}>
      <span style={{ fontVariantNumeric: 'tabular-nums' }}>{formatPerMillion(value)}</span>
    </Tooltip>
  )
}
