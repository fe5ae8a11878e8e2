import { ActionIcon, Menu, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import { MoreIcon } from '../../components/icons.tsx'
import { nameOfKey } from './byok-fields.ts'
import { ByokForm } from './byok-form.tsx'
import type { ByokKey } from './queries.ts'

/** The menu of a key. */
export function ByokActions({ byokKey }: { byokKey: ByokKey }) {
  const queryClient = useQueryClient()
  const [dialog, setDialog] = useState<'edit' | 'delete' | null>(null)
  const close = () => setDialog(null)
  const name = nameOfKey(byokKey)
  const params = { path: { id: byokKey.id } }
  const refresh = () => queryClient.invalidateQueries({ queryKey: ['get', '/byok'] })
  const toggle = useMutation({
    mutationFn: () => client.PATCH('/byok/{id}', { params, body: { disabled: !byokKey.disabled } }),
    onSuccess: refresh,
    onError: ({ message }) => notifications.show({ color: 'red', title: name, message }),
  })
  const remove = async () => {
    await client.DELETE('/byok/{id}', { params })
    await refresh()
  }
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${name}`}>
            <MoreIcon />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setDialog('edit')}>Edit</Menu.Item>
          <Menu.Item onClick={() => toggle.mutate()}>{byokKey.disabled ? 'Enable' : 'Disable'}</Menu.Item>
          <Menu.Item c="red" onClick={() => setDialog('delete')}>
            Delete
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {dialog === 'edit' && <ByokForm provider={byokKey.provider} byokKey={byokKey} onClose={close} />}
      {dialog === 'delete' && (
        <ConfirmByName title="Delete the key" name={name} action="Delete" onConfirm={remove} onClose={close}>
          <Text size="sm">
            The secret is wiped and cannot be restored. Requests use the next key, or the server credential.
            To stop it temporarily, disable it instead.
          </Text>
        </ConfirmByName>
      )}
    </>
  )
}
