import { Button, Group, Modal, NumberInput, Select, Stack, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'

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
  const grant = api.useMutation('post', '/credits/grants', {
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['get', '/credits'] })
      onClose()
    },
  })
  const isValid = typeof amount === 'number' && (kind === 'adjustment' ? amount !== 0 : amount > 0)
  const send = () => {
    if (isValid && !grant.isPending)
      grant.mutate({ body: { amount, kind, note: note.trim() || null, idempotency_key } })
  }
  return (
    <Modal opened onClose={onClose} title="Add credits" closeButtonProps={{ 'aria-label': 'Close' }}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          send()
        }}
      >
        <Stack>
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
          {grant.error && <ErrorNotice error={grant.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" disabled={!isValid} loading={grant.isPending}>
              Add
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
