import { NumberInput, Select, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { FormDialog } from '../../components/form-dialog.tsx'

const kinds = [
  { value: 'grant', label: 'Grant' },
  { value: 'purchase', label: 'Purchase' },
  { value: 'adjustment', label: 'Adjustment' },
] as const

type Kind = (typeof kinds)[number]['value']

/** Adds credits to the own organization. */
export function GrantCredits({ onClose }: { onClose: () => void }) {
  const [amount, setAmount] = useState<number | string>('')
  const [kind, setKind] = useState<Kind>('grant')
  const [note, setNote] = useState('')
  // A form that is sent twice adds the amount once.
  const [idempotency_key] = useState(() => crypto.randomUUID())
  const queries = useQueryClient()
  const grant = api.useMutation('post', '/credits/grants')
  const isValid = typeof amount === 'number' && (kind === 'adjustment' ? amount !== 0 : amount > 0)
  const send = async () => {
    if (!isValid) return
    await grant.mutateAsync({ body: { amount, kind, note: note.trim() || null, idempotency_key } })
    await queries.invalidateQueries({ queryKey: ['get', '/credits'] })
  }
  return (
    <FormDialog title="Add credits" action="Add" isReady={isValid} onSubmit={send} onClose={onClose}>
      <NumberInput
        label="Amount in USD"
        description={kind === 'adjustment' ? 'Negative to take credits away.' : undefined}
        prefix="$"
        decimalScale={9}
        hideControls
        value={amount}
        onChange={setAmount}
        data-autofocus
      />
      <Select
        label="Kind"
        description="Only purchases count towards the limits of free models. Only an adjustment can be negative."
        data={kinds}
        allowDeselect={false}
        value={kind}
        onChange={(value) => setKind(value ?? 'grant')}
      />
      <TextInput
        label="Note"
        maxLength={500}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
    </FormDialog>
  )
}
