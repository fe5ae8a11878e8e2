import { Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, client, type Schemas } from '../api/client.ts'
import { useRefresh } from '../api/use-refresh.ts'
import { AmountField } from './amount-field.tsx'
import { DialogButton } from './dialog-button.tsx'
import { FormDialog } from './form-dialog.tsx'
import { windowTexts } from './limit-window.ts'

/** A button that changes the amount of a limit; nothing if the limit is gone or cannot be changed. */
export function RaiseLimit({ id }: { id: string }) {
  const query = useQuery(
    api.queryOptions('get', '/limits/{id}', { params: { path: { id } } }, { retry: false }),
  )
  const limit = query.data?.data
  if (!limit || limit.source === 'settings') return null
  return (
    <DialogButton label="Raise limit">{(close) => <RaiseForm limit={limit} onClose={close} />}</DialogButton>
  )
}

function RaiseForm({ limit, onClose }: { limit: Schemas['Limit']; onClose: () => void }) {
  const refresh = useRefresh()
  const { id, name, measure, window, amount: before } = limit
  const [amount, setAmount] = useState<number | null>(before)
  const save = async () => {
    if (amount === null) return
    await client.PATCH('/limits/{id}', { params: { path: { id } }, body: { amount } })
    await refresh('/limits', '/limits/{id}', '/limits/usage', '/budgets', '/keys', '/keys/{hash}')
    notifications.show({ message: 'Saved. It applies from the next request on.' })
  }
  return (
    <FormDialog
      title={`Raise ${name}`}
      action="Save"
      isReady={amount !== null && amount !== before}
      onSubmit={save}
      onClose={onClose}
    >
      <AmountField
        measure={measure}
        label={window === null ? 'Limit' : `Limit ${windowTexts[window].each}`}
        autoFocus
        defaultValue={before}
        onChange={setAmount}
      />
      <Text size="sm" c="dimmed">
        Other limits still apply.
      </Text>
    </FormDialog>
  )
}
