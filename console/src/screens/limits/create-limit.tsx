import { Select, SimpleGrid, Switch } from '@mantine/core'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { AmountField } from '../../components/amount-field.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { type Window, windowTexts } from '../../components/limit-window.ts'
import { NameField } from '../../components/text-field.tsx'
import { type Measure, measureNames } from '../../format/measure.ts'
import { emptyDraft, isComplete, type LimitDraft, toBody } from './draft.ts'
import { MatchFields } from './match-fields.tsx'

const measureOptions = Object.entries(measureNames).map(([value, label]) => ({ value, label }))
const windowOptions = Object.entries(windowTexts).map(([value, { label }]) => ({ value, label }))

export function CreateLimit({ onClose }: { onClose: () => void }) {
  const refresh = useRefresh()
  const [draft, setDraft] = useState(emptyDraft)
  const update = (changes: Partial<LimitDraft>) => setDraft((before) => ({ ...before, ...changes }))
  const save = async () => {
    await client.POST('/limits', { body: toBody(draft) })
    await refresh('/limits', '/limits/usage')
  }
  return (
    <FormDialog
      title="Create a limit"
      action="Create"
      size="lg"
      isReady={isComplete(draft)}
      onSubmit={save}
      onClose={onClose}
    >
      <NameField value={draft.name} onChange={(name) => update({ name })} />
      <SizeFields draft={draft} onChange={update} />
      <MatchFields draft={draft} onChange={update} />
    </FormDialog>
  )
}

interface SizeFieldsProps {
  draft: LimitDraft
  onChange: (changes: Partial<LimitDraft>) => void
}

function SizeFields({ draft, onChange }: SizeFieldsProps) {
  const { measure, window, amount } = draft
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <Select
          label="Measure"
          data={measureOptions}
          allowDeselect={false}
          value={measure}
          onChange={(next) => next && onChange({ measure: next as Measure })}
        />
        <AmountField
          key={measure === 'usd' ? 'dollars' : 'count'}
          measure={measure}
          defaultValue={amount}
          onChange={(next) => onChange({ amount: next })}
        />
        {measure !== 'concurrent_requests' && (
          <Select
            label="Window"
            data={windowOptions}
            allowDeselect={false}
            value={window}
            onChange={(next) => next && onChange({ window: next as Window })}
          />
        )}
      </SimpleGrid>
      {measure === 'usd' && (
        <Switch
          label="Count requests with your own provider keys, at list prices"
          checked={draft.includeByok}
          onChange={(event) => onChange({ includeByok: event.currentTarget.checked })}
        />
      )}
    </>
  )
}
