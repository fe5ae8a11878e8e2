import { Button, Group, Modal, Select, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { CodeBlock } from '../../components/copy.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { TextField } from '../../components/text-field.tsx'
import { WorkspacesSelect } from '../../components/workspaces-select.tsx'
import type { OrganizationRole } from './organization-role.ts'
import { RoleField } from './role-field.tsx'

const day = 86_400
const lifetimes = [
  { value: String(day), label: 'One day' },
  { value: String(7 * day), label: 'Seven days' },
  { value: String(30 * day), label: 'Thirty days' },
]

/** A form, and then the link, which the server shows only once. */
export function InviteDialog({ onClose }: { onClose: () => void }) {
  const refresh = useRefresh()
  const [invited, setInvited] = useState<Invited | null>(null)
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<OrganizationRole>('org:member')
  const [workspaceIds, setWorkspaceIds] = useState<string[]>([])
  const [lifetime, setLifetime] = useState(String(7 * day))
  const invite = async () => {
    const body = { email: email.trim(), role, workspace_ids: workspaceIds, expires_in: Number(lifetime) }
    const { data } = await client.POST('/organization/invitations', { body })
    await refresh('/organization/invitations')
    if (!data) throw new Error('The server returned no invitation.')
    return { url: data.url, mailed: data.mailed, email: data.data.email }
  }
  if (invited) return <InvitationLink invited={invited} onClose={onClose} />
  return (
    <FormDialog
      title="Invite a person"
      action="Invite"
      isReady={email.includes('@')}
      onSubmit={invite}
      onDone={setInvited}
      onClose={onClose}
    >
      <TextField
        label="E-mail address"
        type="email"
        required
        data-autofocus
        value={email}
        onChange={setEmail}
      />
      <RoleField value={role} onChange={setRole} />
      <WorkspacesSelect
        label="Workspaces to join"
        description="In addition to the default workspace, which everyone joins."
        value={workspaceIds}
        onChange={setWorkspaceIds}
      />
      <Select
        label="The link is valid for"
        data={lifetimes}
        allowDeselect={false}
        value={lifetime}
        onChange={(value) => value && setLifetime(value)}
      />
    </FormDialog>
  )
}

interface Invited {
  url: string
  mailed: boolean
  email: string
}

function InvitationLink({ invited, onClose }: { invited: Invited; onClose: () => void }) {
  return (
    <Modal
      opened
      onClose={onClose}
      title={`${invited.email} is invited`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack>
        <Text size="sm">
          {invited.mailed
            ? 'A mail with this link is on its way. The link works once and is not shown again.'
            : 'This server sends no mail: give the person this link. It works once and is not shown again.'}
        </Text>
        <CodeBlock code={invited.url} label="Copy the invitation link" />
        <Group justify="flex-end">
          <Button onClick={onClose}>Done</Button>
        </Group>
      </Stack>
    </Modal>
  )
}
