import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { Id } from '../../components/copy.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { QrCode } from './qr-code.tsx'

/** Shows the secret to scan, and has it confirmed with a code. */
export function AuthenticatorSetup({ onConfirm }: { onConfirm: (recoveryCodes: string[]) => void }) {
  const [code, setCode] = useState('')
  const start = api.useMutation('post', '/account/totp')
  const confirm = api.useMutation('post', '/account/totp/confirm', {
    onSuccess: ({ data }) => onConfirm(data.codes),
  })
  if (!start.data) {
    return (
      <>
        {start.error !== null && <ErrorNotice error={start.error} />}
        <Group>
          <Button size="xs" onClick={() => start.mutate({})} loading={start.isPending}>
            Set up an app
          </Button>
        </Group>
      </>
    )
  }
  const { secret, uri } = start.data.data
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        confirm.mutate({ body: { code } })
      }}
    >
      <Stack gap="sm">
        <Text size="sm">
          Scan this code with the app, or enter the secret manually. Then enter the code that the app shows.
        </Text>
        <QrCode text={uri} label="QR code for the authenticator app" />
        <Group gap="xs">
          <Text size="sm">Secret</Text>
          <Id value={secret} label="Copy the secret" />
        </Group>
        <TextInput
          label="Authenticator code"
          inputMode="numeric"
          autoComplete="one-time-code"
          maxLength={6}
          maw={160}
          value={code}
          onChange={(event) => setCode(event.currentTarget.value.replace(/\D/g, ''))}
        />
        {confirm.error !== null && <ErrorNotice error={confirm.error} />}
        <Group>
          <Button type="submit" size="xs" loading={confirm.isPending} disabled={code.length !== 6}>
            Confirm
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
