import { Button, Group, PasswordInput, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, client } from '../../api/client.ts'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Panel } from '../../components/panel.tsx'
import { Time } from '../../components/time.tsx'
import { accountOptions, sessionsOptions } from './options.ts'

const minLength = 12

export function PasswordSection({ updatedAt }: { updatedAt: string | null }) {
  const queryClient = useQueryClient()
  const [isRemoving, setRemoving] = useState(false)
  const remove = async () => {
    await client.DELETE('/account/password')
    await queryClient.invalidateQueries(accountOptions)
  }
  return (
    <Panel title="Password" description="Setting one signs you out everywhere else.">
      <Text size="sm" component="div">
        {updatedAt ? (
          <>
            Last changed <Time iso={updatedAt} style="age" />.
          </>
        ) : (
          'You have no password.'
        )}
      </Text>
      <PasswordForm hasPassword={updatedAt !== null} />
      {updatedAt !== null && (
        <Group>
          <Button variant="subtle" color="red" size="xs" onClick={() => setRemoving(true)}>
            Remove the password
          </Button>
        </Group>
      )}
      {isRemoving && (
        <ConfirmByName
          title="Remove the password"
          name="password"
          action="Remove"
          onConfirm={remove}
          onClose={() => setRemoving(false)}
        >
          You can then sign in with a passkey, an e-mailed link or a link from the command line.
        </ConfirmByName>
      )}
    </Panel>
  )
}

function PasswordForm({ hasPassword }: { hasPassword: boolean }) {
  const queryClient = useQueryClient()
  const [password, setPassword] = useState('')
  const [current, setCurrent] = useState('')
  const save = api.useMutation('put', '/account/password', {
    onSuccess: async () => {
      setPassword('')
      setCurrent('')
      notifications.show({ color: 'teal', message: 'The password is changed.' })
      await queryClient.invalidateQueries(accountOptions)
      await queryClient.invalidateQueries(sessionsOptions)
    },
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        save.mutate({ body: { password, ...(current !== '' && { current_password: current }) } })
      }}
    >
      <Stack gap="sm" maw={420}>
        {hasPassword && (
          <PasswordInput
            label="Current password"
            description="Not needed within 15 minutes of a sign-in"
            autoComplete="current-password"
            value={current}
            onChange={(event) => setCurrent(event.currentTarget.value)}
          />
        )}
        <PasswordInput
          label="New password"
          description="12 to 128 characters, not a common one"
          autoComplete="new-password"
          maxLength={128}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        {save.error !== null && <ErrorNotice error={save.error} />}
        <Group>
          <Button type="submit" size="xs" loading={save.isPending} disabled={password.length < minLength}>
            {hasPassword ? 'Change the password' : 'Set a password'}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
