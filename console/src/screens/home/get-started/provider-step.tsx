import { Badge, Button, Group, PasswordInput, Select, Stack, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, client } from '../../../api/client.ts'
import { mayDo, useSession } from '../../../app/session.tsx'
import { useWorkspace } from '../../../app/workspace.tsx'
import {
  CredentialTestButton,
  CredentialTestResult,
  useCredentialTest,
} from '../../../components/credential-test.tsx'
import { ErrorNotice } from '../../../components/error-notice.tsx'
import { TextLink } from '../../../components/text-link.tsx'
import type { Progress } from './use-progress.ts'

/** Lists the providers with a credential, and has a form to add one. */
export function ProviderStep({ progress }: { progress: Progress }) {
  const session = useSession()
  return (
    <Stack maw={560}>
      <Text size="sm">
        A provider runs the models. You can skip this for now: the models of the sandbox, such as
        sandbox/echo, work without any.
      </Text>
      {progress.installed.length > 0 && (
        <Group gap="xs">
          <Text size="sm">Set up by the operator:</Text>
          {progress.installed.map((name) => (
            <Badge key={name} variant="light" tt="none">
              {name}
            </Badge>
          ))}
        </Group>
      )}
      {progress.byok.map(({ id, provider, label }) => (
        <SavedCredential key={id} id={id} provider={provider} label={label} />
      ))}
      {mayDo(session, 'byok:write') && <CredentialForm />}
    </Stack>
  )
}

function CredentialForm() {
  const queryClient = useQueryClient()
  const { id: workspaceId } = useWorkspace()
  const providers = useQuery(api.queryOptions('get', '/providers'))
  const [provider, setProvider] = useState<string | null>(null)
  const [key, setKey] = useState('')
  const create = api.useMutation('post', '/byok', {
    onSuccess: () => {
      setKey('')
      return queryClient.invalidateQueries({ queryKey: ['get', '/byok'] })
    },
  })
  const options = (providers.data?.data ?? [])
    .filter(({ slug }) => slug !== 'sandbox')
    .map(({ slug, name }) => ({ value: slug, label: name }))
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (provider && key) {
          const workspace = workspaceId === null ? {} : { workspace_id: workspaceId }
          create.mutate({ body: { provider, key: key.trim(), ...workspace } })
        }
      }}
    >
      <Stack gap="sm">
        <Select
          label="Provider"
          placeholder="Choose one"
          data={options}
          searchable
          value={provider}
          onChange={setProvider}
        />
        <PasswordInput
          label="Your API key"
          description="Encrypted when stored, never shown again, and sent to this provider only."
          value={key}
          onChange={(event) => setKey(event.currentTarget.value)}
          autoComplete="off"
        />
        {create.error !== null && <ErrorNotice error={create.error} />}
        <Group>
          <Button type="submit" disabled={!provider || key === ''} loading={create.isPending}>
            Add the key
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function SavedCredential({ id, provider, label }: { id: string; provider: string; label: string }) {
  const canTest = mayDo(useSession(), 'byok:write')
  const test = useCredentialTest(() => client.POST('/byok/{id}/test', { params: { path: { id } }, body: {} }))
  return (
    <Stack gap={6}>
      <Group gap="sm">
        <TextLink to="/providers/$slug" params={{ slug: provider }}>
          {provider}
        </TextLink>
        <Text size="sm" c="dimmed">
          {label}
        </Text>
        {canTest && <CredentialTestButton test={test} label={`Test the key of ${provider}`} />}
      </Group>
      <CredentialTestResult test={test} />
    </Stack>
  )
}
