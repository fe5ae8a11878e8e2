import { Text } from '@mantine/core'
import { useState } from 'react'
import { client } from '../api/client.ts'
import { useRefresh } from '../api/use-refresh.ts'
import { DialogButton } from './dialog-button.tsx'
import { FormDialog } from './form-dialog.tsx'
import { TextField } from './text-field.tsx'

interface BlockEndUserProps {
  name: string
  /** The accessible name, where several can be blocked. */
  label?: string
  size?: 'xs' | 'compact-xs'
}

/** Rejects the requests of an end user, after a dialog. */
export function BlockEndUser({ name, label, size = 'xs' }: BlockEndUserProps) {
  return (
    <DialogButton
      label="Block"
      color="red"
      variant="outline"
      size={size}
      {...(label && { description: label })}
    >
      {(close) => <BlockDialog name={name} onClose={close} />}
    </DialogButton>
  )
}

function BlockDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const [reason, setReason] = useState('')
  const refresh = useRefresh()
  const block = async () => {
    const body = { blocked: true, ...(reason.trim() !== '' && { reason: reason.trim() }) }
    await client.PATCH('/end-users/{id}', { params: { path: { id: name } }, body })
    await refresh('/end-users/{id}', '/end-users')
  }
  return (
    <FormDialog title={`Block ${name}`} action="Block" onSubmit={block} onClose={onClose}>
      <Text size="sm">
        Requests of this end user are rejected with status 403, starting within two seconds.
      </Text>
      <TextField
        label="Reason"
        description="For the audit log. Clients do not see it."
        maxLength={200}
        value={reason}
        onChange={setReason}
        data-autofocus
      />
    </FormDialog>
  )
}
