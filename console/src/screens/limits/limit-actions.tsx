import { Menu, Switch } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { AmountField } from '../../components/amount-field.tsx'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { NameField } from '../../components/text-field.tsx'
import { describeAmount, type Limit } from './limit-words.ts'

/** The menu of a limit. */
export function LimitActions({ limit }: { limit: Limit }) {
  const refresh = useRefresh()
  const [dialog, setDialog] = useState<'edit' | 'delete' | null>(null)
  const close = () => setDialog(null)
  const params = { path: { id: limit.id } }
  const toggle = useMutation({
    mutationFn: () => client.PATCH('/limits/{id}', { params, body: { enabled: !limit.enabled } }),
    onSuccess: () => refresh('/limits'),
    onError: ({ message }) => notifications.show({ color: 'red', title: limit.name, message }),
  })
  const remove = async () => {
    await client.DELETE('/limits/{id}', { params })
    await refresh('/limits', '/limits/usage')
  }
  return (
    <>
      <RowMenu label={`Actions for ${limit.name}`}>
        <Menu.Item onClick={() => setDialog('edit')}>Edit</Menu.Item>
        {limit.source === 'limit' && (
          <Menu.Item onClick={() => toggle.mutate()}>{limit.enabled ? 'Disable' : 'Enable'}</Menu.Item>
        )}
        <Menu.Item c="red" onClick={() => setDialog('delete')}>
          Delete
        </Menu.Item>
      </RowMenu>
      {dialog === 'edit' && <EditLimit limit={limit} onClose={close} />}
      {dialog === 'delete' && (
        <ConfirmByName
          title="Delete the limit"
          name={limit.name}
          action="Delete"
          onConfirm={remove}
          onClose={close}
        >
          Requests are no longer limited to {describeAmount(limit)}.{' '}
          {limit.source === 'limit'
            ? 'To stop it temporarily, disable the limit instead.'
            : `The ${limit.source} itself remains.`}
        </ConfirmByName>
      )}
    </>
  )
}

function EditLimit({ limit, onClose }: { limit: Limit; onClose: () => void }) {
  const refresh = useRefresh()
  const { id, measure } = limit
  /** The name of another limit is that of the record it belongs to, which is changed on its own screen. */
  const isDeclared = limit.source === 'limit'
  const [name, setName] = useState(limit.name)
  const [amount, setAmount] = useState<number | null>(limit.amount)
  const [enabled, setEnabled] = useState(limit.enabled)
  const save = async () => {
    const body = { ...(isDeclared && { name, enabled }), ...(amount !== null && { amount }) }
    await client.PATCH('/limits/{id}', { params: { path: { id } }, body })
    await refresh('/limits', '/limits/usage')
  }
  return (
    <FormDialog
      title={`Edit ${limit.name}`}
      action="Save"
      isReady={name.trim() !== '' && amount !== null}
      onSubmit={save}
      onClose={onClose}
    >
      {isDeclared && <NameField value={name} onChange={setName} />}
      <AmountField measure={measure} defaultValue={limit.amount} onChange={setAmount} />
      {isDeclared && (
        <Switch
          label="Enabled"
          checked={enabled}
          onChange={(event) => setEnabled(event.currentTarget.checked)}
        />
      )}
    </FormDialog>
  )
}
