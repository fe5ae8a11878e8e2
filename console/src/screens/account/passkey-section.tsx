import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { client, type Schemas } from '../../api/client.ts'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { Time } from '../../components/time.tsx'
import { accountOptions, passkeysOptions } from './options.ts'
import { canCreatePasskeys, createPasskey } from './passkey.ts'

export function PasskeySection() {
  const queryClient = useQueryClient()
  const query = useQuery(passkeysOptions)
  const [removing, setRemoving] = useState<Schemas['Passkey'] | null>(null)
  const refresh = async () => {
    await queryClient.invalidateQueries(passkeysOptions)
    await queryClient.invalidateQueries(accountOptions)
  }
  return (
    <Panel
      title="Passkeys"
      description="Sign in with the fingerprint, face or PIN of a device, or with a security key."
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Text size="sm">You have no passkeys.</Text>
          ) : (
            <Stack gap="xs">
              {data.map((passkey) => (
                <PasskeyRow key={passkey.id} passkey={passkey} onRemove={() => setRemoving(passkey)} />
              ))}
            </Stack>
          )
        }
      </QueryView>
      {canCreatePasskeys() ? (
        <PasskeyForm onCreate={refresh} />
      ) : (
        <Text size="sm" c="dimmed">
          This browser cannot create passkeys here: it needs https, or the address localhost.
        </Text>
      )}
      {removing && (
        <ConfirmByName
          title="Remove the passkey"
          name={removing.name}
          action="Remove"
          onConfirm={async () => {
            await client.DELETE('/account/passkeys/{id}', { params: { path: { id: removing.id } } })
            await refresh()
          }}
          onClose={() => setRemoving(null)}
        >
          You can no longer sign in with it. Delete it from the device as well.
        </ConfirmByName>
      )}
    </Panel>
  )
}

function PasskeyRow({ passkey, onRemove }: { passkey: Schemas['Passkey']; onRemove: () => void }) {
  return (
    <Group justify="space-between" gap="xs">
      <div style={{ minWidth: 0 }}>
        <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
          {passkey.name}
        </Text>
        <Text size="xs" c="dimmed" component="div">
          Created <Time iso={passkey.created_at} style="age" />, used{' '}
          {passkey.last_used_at ? <Time iso={passkey.last_used_at} style="age" /> : 'never'}
        </Text>
      </div>
      <Button variant="subtle" color="red" size="xs" onClick={onRemove} aria-label={`Remove ${passkey.name}`}>
        Remove
      </Button>
    </Group>
  )
}

function PasskeyForm({ onCreate }: { onCreate: () => Promise<void> }) {
  const [name, setName] = useState('')
  const create = useMutation({
    mutationFn: () => createPasskey(name.trim()),
    onSuccess: async () => {
      setName('')
      await onCreate()
    },
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        create.mutate()
      }}
    >
      <Stack gap="sm" maw={420}>
        <TextInput
          label="Name of the new passkey"
          placeholder="Laptop"
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        {create.error !== null && <ErrorNotice error={create.error} />}
        <Group>
          <Button type="submit" size="xs" loading={create.isPending} disabled={name.trim() === ''}>
            Create a passkey
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
