import { Switch } from '@mantine/core'
import { useState } from 'react'
import { client } from '../../../api/client.ts'
import { useRefresh } from '../../../api/use-refresh.ts'
import { FormDialog } from '../../../components/form-dialog.tsx'
import { NameField } from '../../../components/text-field.tsx'
import { PrefixesField, toPrefixes } from './prefixes-field.tsx'
import type { AuditDestination } from './queries.ts'

interface EditDestinationProps {
  destination: AuditDestination
  onClose: () => void
}

export function EditDestination({ destination, onClose }: EditDestinationProps) {
  const refresh = useRefresh()
  const [name, setName] = useState(destination.name)
  const [enabled, setEnabled] = useState(destination.enabled)
  const [prefixes, setPrefixes] = useState(destination.action_prefixes ?? [])
  const save = async () => {
    await client.PATCH('/audit/destinations/{id}', {
      params: { path: { id: destination.id } },
      body: { name: name.trim(), enabled, action_prefixes: toPrefixes(prefixes) },
    })
    await refresh('/audit/destinations')
  }
  return (
    <FormDialog
      title={`Edit ${destination.name}`}
      action="Save"
      isReady={name.trim() !== ''}
      onSubmit={save}
      onClose={onClose}
    >
      <NameField
        description="The address cannot be changed. Add another destination instead."
        maxLength={200}
        value={name}
        onChange={setName}
      />
      <PrefixesField value={prefixes} onChange={setPrefixes} />
      <Switch
        label="Enabled"
        description="Entries written while it is disabled are sent once it is enabled."
        checked={enabled}
        onChange={(event) => setEnabled(event.currentTarget.checked)}
      />
    </FormDialog>
  )
}
