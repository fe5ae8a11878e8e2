import { NumberInput, type NumberInputProps } from '@mantine/core'
import { useState } from 'react'

interface MoneyFieldProps extends Omit<NumberInputProps, 'value' | 'defaultValue' | 'onChange'> {
  /** Dollars when the form opens; null for an empty field. */
  defaultValue: number | null
  onChange: (dollars: number | null) => void
}

/** An amount in dollars, as exact as the gateway counts. */
export function MoneyField({ defaultValue, onChange, ...rest }: MoneyFieldProps) {
  // What is typed so far, such as `0.0`, is not always a number.
  const [typed, setTyped] = useState<number | string>(defaultValue ?? '')
  return (
    <NumberInput
      prefix="$"
      decimalScale={9}
      thousandSeparator=","
      hideControls
      {...rest}
      value={typed}
      onChange={(next) => {
        setTyped(next)
        onChange(readAmount(next))
      }}
    />
  )
}

function readAmount(typed: number | string): number | null {
  const amount = typed === '' ? Number.NaN : Number(typed)
  return Number.isFinite(amount) ? amount : null
}
