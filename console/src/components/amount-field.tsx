import type { NumberInputProps } from '@mantine/core'
import type { Measure } from '../format/measure.ts'
import { MoneyField } from './money-field.tsx'

interface AmountFieldProps extends Pick<NumberInputProps, 'label' | 'style' | 'autoFocus'> {
  measure: Measure
  defaultValue: number | null
  onChange: (amount: number | null) => void
}

/** The amount of a limit: dollars, or a whole number. */
export function AmountField({ measure, ...field }: AmountFieldProps) {
  const isMoney = measure === 'usd'
  return (
    <MoneyField
      label="Amount"
      required
      min={0}
      prefix={isMoney ? '$' : ''}
      decimalScale={isMoney ? 9 : 0}
      allowNegative={false}
      {...field}
    />
  )
}
