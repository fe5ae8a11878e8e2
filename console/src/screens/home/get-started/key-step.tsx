import { Anchor, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../../api/client.ts'
import { useWorkspace } from '../../../app/workspace.tsx'
import { ErrorNotice } from '../../../components/error-notice.tsx'
import { SecretOnce } from '../../../components/secret-once.tsx'

interface KeyStepProps {
  hasKeys: boolean
  onCreate: (secret: string) => void
}

export function KeyStep({ hasKeys, onCreate }: KeyStepProps) {
  const queryClient = useQueryClient()
  const { id: workspaceId } = useWorkspace()
  const [name, setName] = useState('My first application')
  const [secret, setSecret] = useState<string | null>(null)
  const create = api.useMutation('post', '/keys', {
    onSuccess: ({ key }) => setSecret(key),
  })
  const acknowledge = () => {
    if (secret !== null) onCreate(secret)
    setSecret(null)
    void queryClient.invalidateQueries({ queryKey: ['get', '/keys'] })
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        create.mutate({ body: { name, ...(workspaceId !== null && { workspace_id: workspaceId }) } })
      }}
    >
      <Stack maw={560}>
        {hasKeys && (
          <Text size="sm">
            You already have a key, whose secret was shown once. Create another one to fill it in below, or{' '}
            <Anchor component={Link} to="/keys" inherit underline="always">
              see all keys
            </Anchor>
            .
          </Text>
        )}
        <TextInput
          label="Name of the key"
          description="The application or the person that will use it."
          value={name}
          maxLength={200}
          required
          onChange={(event) => setName(event.currentTarget.value)}
        />
        {create.error !== null && <ErrorNotice error={create.error} />}
        <Group>
          <Button type="submit" loading={create.isPending} disabled={name.trim() === ''}>
            Create a key
          </Button>
        </Group>
      </Stack>
      {secret !== null && <SecretOnce title="Your new key" secret={secret} onClose={acknowledge} />}
    </form>
  )
}
