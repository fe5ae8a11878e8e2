import { SimpleGrid, TextInput } from '@mantine/core'
import { toPricePerToken } from '../../format/price.ts'
import { type PriceDraft, type PriceName, priceLabels } from './price-draft.ts'

interface PriceFieldsProps {
  value: PriceDraft
  /** Prices without the edit, per million. */
  placeholders?: PriceDraft
  onChange: (prices: PriceDraft) => void
}

/** Prices per million tokens. */
export function PriceFields({ value, placeholders, onChange }: PriceFieldsProps) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      {Object.entries(priceLabels).map(([name, label]) => {
        const text = value[name as PriceName]
        return (
          <TextInput
            key={name}
            label={label}
            description="Dollars per million tokens"
            inputMode="decimal"
            placeholder={placeholders?.[name as PriceName] ?? ''}
            value={text}
            error={text !== '' && toPricePerToken(text) === null ? 'An amount such as 2.50' : null}
            onChange={(event) => onChange({ ...value, [name]: event.currentTarget.value })}
          />
        )
      })}
    </SimpleGrid>
  )
}
