import { Select } from '@mantine/core'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { MoneyField } from '../../components/money-field.tsx'
import { TextField } from '../../components/text-field.tsx'

const kinds = [
  { value: 'grant', label: 'Grant' },
  { value: 'purchase', label: 'Purchase' },
  { value: 'adjustment', label: 'Adjustment' },
] as const

type Kind = (typeof kinds)[number]['value']

/** Adds credits to the own organization. */
export function GrantCredits({ onClose }: { onClose: () => void }) {
  const [amount, setAmount] = useState<number | null>(null)
  const [kind, setKind] = useState<Kind>('grant')
  const [note, setNote] = useState('')
  // A form that is sent twice adds the amount once.
  const [idempotency_key] = useState(() => crypto.randomUUID())
  const refresh = useRefresh()
  const grant = api.useMutation('post', '/credits/grants')
  const isValid = amount !== null && (kind === 'adjustment' ? amount !== 0 : amount > 0)
  const send = async () => {
    if (amount === null) return
    await grant.mutateAsync({ body: { amount, kind, note: note.trim() || null, idempotency_key } })
    await refresh('/credits', '/credits/entries', '/budgets')
  }
  return (
    <FormDialog title="Add credits" action="Add" isReady={isValid} onSubmit={send} onClose={onClose}>
      <MoneyField
        label="Amount in USD"
        description={kind === 'adjustment' ? 'Negative to take credits away.' : undefined}
        defaultValue={null}
        onChange={setAmount}
        data-autofocus
      />
      <Select
        label="Kind"
        description="Only purchases count toward the limits of free models. Only an adjustment can be negative."
        data={kinds}
        allowDeselect={false}
        value={kind}
        onChange={(value) => setKind(value ?? 'grant')}
      />
      <TextField label="Note" maxLength={500} value={note} onChange={setNote} />
    </FormDialog>
  )
}
