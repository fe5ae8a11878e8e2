import { Menu } from '@mantine/core'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { AliasForm } from './alias-form.tsx'
import type { Alias } from './shares.ts'
import { WeightsForm } from './weights-form.tsx'

/** The menu of an alias. */
export function AliasActions({ alias }: { alias: Alias }) {
  const refresh = useRefresh()
  const [dialog, setDialog] = useState<'edit' | 'weights' | 'delete' | null>(null)
  const close = () => setDialog(null)
  const remove = async () => {
    await client.DELETE('/model-aliases/{id}', { params: { path: { id: alias.id } } })
    await refresh('/model-aliases')
  }
  return (
    <>
      <RowMenu label={`Actions for ${alias.name}`}>
        <Menu.Item onClick={() => setDialog('edit')}>Edit</Menu.Item>
        {alias.targets && <Menu.Item onClick={() => setDialog('weights')}>Change weights</Menu.Item>}
        <Menu.Item c="red" onClick={() => setDialog('delete')}>
          Delete
        </Menu.Item>
      </RowMenu>
      {dialog === 'edit' && <AliasForm alias={alias} onClose={close} />}
      {dialog === 'weights' && alias.targets && (
        <WeightsForm alias={alias} targets={alias.targets} onClose={close} />
      )}
      {dialog === 'delete' && (
        <ConfirmByName
          title="Delete the alias"
          name={alias.name}
          action="Delete"
          onConfirm={remove}
          onClose={close}
        >
          Requests that use it are rejected, unless a model has the same name.
        </ConfirmByName>
      )}
    </>
  )
}
