import { Button, CloseButton, Fieldset, Group, Select, Stack } from '@mantine/core'
import { randomId } from '@mantine/hooks'
import { AmountField } from '../../components/amount-field.tsx'
import { type Window, windowTexts } from '../../components/limit-window.ts'
import { type Measure, measureNames } from '../../format/measure.ts'
import type { RateDraft } from './rate-draft.ts'

const measures = Object.entries(measureNames).map(([value, label]) => ({ value, label }))
const windows = Object.entries(windowTexts).map(([value, { each }]) => ({ value, label: each }))
const maxRates = 10

interface RateFieldsProps {
  rates: RateDraft[]
  onChange: (rates: RateDraft[]) => void
}

/** Limits on what a key may use in a time, such as 60 requests a minute. */
export function RateFields({ rates, onChange }: RateFieldsProps) {
  const set = (row: string, changes: Partial<RateDraft>) =>
    onChange(rates.map((rate) => (rate.row === row ? { ...rate, ...changes } : rate)))
  const add = () =>
    onChange([...rates, { id: null, row: randomId(), measure: 'requests', window: 'minute', amount: null }])
  return (
    <Fieldset legend="Rate limits">
      <Stack gap="xs">
        {rates.map((rate) => (
          <RateRow
            key={rate.row}
            rate={rate}
            onChange={(changes) => set(rate.row, changes)}
            onRemove={() => onChange(rates.filter(({ row }) => row !== rate.row))}
          />
        ))}
        {rates.length < maxRates && (
          <Group>
            <Button size="xs" variant="default" onClick={add}>
              Add rate limit
            </Button>
          </Group>
        )}
      </Stack>
    </Fieldset>
  )
}

interface RateRowProps {
  rate: RateDraft
  onChange: (changes: Partial<RateDraft>) => void
  onRemove: () => void
}

function RateRow({ rate, onChange, onRemove }: RateRowProps) {
  const { measure, window, amount } = rate
  return (
    <Group gap="xs" align="flex-end" wrap="nowrap">
      <AmountField
        key={measure === 'usd' ? 'dollars' : 'count'}
        measure={measure}
        label="Limit"
        autoFocus={rate.id === null}
        style={{ flex: '1 1 80px' }}
        defaultValue={amount}
        onChange={(next) => onChange({ amount: next })}
      />
      <Select
        aria-label="Measure"
        style={{ flex: '1 1 130px' }}
        data={measures}
        allowDeselect={false}
        value={measure}
        onChange={(next) => next && onChange({ measure: next as Measure })}
      />
      {measure !== 'concurrent_requests' && (
        <Select
          aria-label="Window"
          style={{ flex: '1 1 100px' }}
          data={windows}
          allowDeselect={false}
          value={window}
          onChange={(next) => next && onChange({ window: next as Window })}
        />
      )}
      <CloseButton size="lg" aria-label="Remove rate limit" onClick={onRemove} />
    </Group>
  )
}
