import { Button, Group, Select, Stack, Text, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../../api/client.ts'
import { CodeBlock } from '../../../components/copy.tsx'
import { ErrorNotice } from '../../../components/error-notice.tsx'

const roles = [
  { value: 'org:member', label: 'Member: uses models and manages the keys they created' },
  { value: 'org:admin', label: 'Admin: may do everything' },
]

export function InviteStep() {
  const queryClient = useQueryClient()
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<'org:member' | 'org:admin'>('org:member')
  const invite = api.useMutation('post', '/organization/invitations', {
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['get', '/organization/invitations'] }),
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        invite.mutate({ body: { email: email.trim(), role, workspace_ids: [], expires_in: 604_800 } })
      }}
    >
      <Stack maw={560}>
        <TextInput
          label="E-mail address"
          type="email"
          required
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <Select
          label="Role"
          data={roles}
          allowDeselect={false}
          value={role}
          onChange={(value) => setRole(value === 'org:admin' ? value : 'org:member')}
        />
        {invite.error !== null && <ErrorNotice error={invite.error} />}
        <Group>
          <Button type="submit" loading={invite.isPending} disabled={email.trim() === ''}>
            Invite
          </Button>
        </Group>
        {invite.data && (
          <div role="status">
            <Text size="sm" pb={4}>
              {invite.data.mailed
                ? `An e-mail was sent to ${invite.data.data.email}. The link in it:`
                : `This server sends no mail. Give this link to ${invite.data.data.email}; it is valid once, for seven days, and not shown again:`}
            </Text>
            <CodeBlock code={invite.data.url} label="Copy the invitation link" />
          </div>
        )}
      </Stack>
    </form>
  )
}
