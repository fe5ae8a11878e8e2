import { Menu, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { EditKey } from './edit-key.tsx'
import type { ApiKey } from './key-fields.ts'
import { RotateKey } from './rotate-key.tsx'

interface KeyActionsProps {
  apiKey: ApiKey
  onDelete?: () => void
}

/** The menu of a key. */
export function KeyActions({ apiKey, onDelete }: KeyActionsProps) {
  const refresh = useRefresh()
  const [dialog, setDialog] = useState<'edit' | 'rotate' | 'delete' | null>(null)
  const close = () => setDialog(null)
  const params = { path: { hash: apiKey.hash } }
  const toggle = useMutation({
    mutationFn: () => client.PATCH('/keys/{hash}', { params, body: { disabled: !apiKey.disabled } }),
    onSuccess: () => refresh('/keys', '/keys/{hash}', '/budgets'),
    onError: ({ message }) => notifications.show({ color: 'red', title: apiKey.name, message }),
  })
  const remove = async () => {
    await client.DELETE('/keys/{hash}', { params })
    if (onDelete) onDelete()
    await refresh('/keys', '/budgets')
  }
  return (
    <>
      <RowMenu label={`Actions for ${apiKey.name}`}>
        <Menu.Item onClick={() => setDialog('edit')}>Edit</Menu.Item>
        <Menu.Item onClick={() => toggle.mutate()}>{apiKey.disabled ? 'Enable' : 'Disable'}</Menu.Item>
        <Menu.Item onClick={() => setDialog('rotate')}>Rotate</Menu.Item>
        <Menu.Item c="red" onClick={() => setDialog('delete')}>
          Delete
        </Menu.Item>
      </RowMenu>
      {dialog === 'edit' && <EditKey apiKey={apiKey} onClose={close} />}
      {dialog === 'rotate' && <RotateKey apiKey={apiKey} onClose={close} />}
      {dialog === 'delete' && (
        <ConfirmByName
          title="Delete the key"
          name={apiKey.name}
          action="Delete"
          onConfirm={remove}
          onClose={close}
        >
          <Text size="sm">
            Applications that use {apiKey.name} are refused at once, and the key cannot be restored. Its past
            requests stay in the records. To stop it temporarily, disable it instead.
          </Text>
        </ConfirmByName>
      )}
    </>
  )
}
