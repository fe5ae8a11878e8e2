import { MoneyField } from '../../components/money-field.tsx'
import type { Measure } from '../../format/measure.ts'

interface AmountFieldProps {
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
