import { Badge, Button, Group, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, client } from '../../api/client.ts'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Panel } from '../../components/panel.tsx'
import { SecretOnce } from '../../components/secret-once.tsx'
import { Time } from '../../components/time.tsx'
import { AuthenticatorSetup } from './authenticator-setup.tsx'
import { accountOptions } from './options.ts'

interface SecondFactorSectionProps {
  confirmedAt: string | null
  recoveryCodesLeft: number
}

/** An authenticator app, and codes for the day it is lost. */
export function SecondFactorSection({ confirmedAt, recoveryCodesLeft }: SecondFactorSectionProps) {
  const queryClient = useQueryClient()
  const [codes, setCodes] = useState<string[] | null>(null)
  return (
    <Panel
      title="Authenticator app"
      description="Asks for a code after a password or an e-mailed link. Not needed with passkeys."
    >
      {confirmedAt === null ? (
        <AuthenticatorSetup onConfirm={setCodes} />
      ) : (
        <ActiveAuthenticator
          confirmedAt={confirmedAt}
          recoveryCodesLeft={recoveryCodesLeft}
          onReplaceCodes={setCodes}
        />
      )}
      {codes !== null && (
        <SecretOnce
          title="Recovery codes"
          secret={codes.join('\n')}
          onClose={() => {
            setCodes(null)
            void queryClient.invalidateQueries(accountOptions)
          }}
        >
          <Text size="sm">Each one works once instead of a code. Store them separately from the app.</Text>
        </SecretOnce>
      )}
    </Panel>
  )
}

interface ActiveAuthenticatorProps {
  confirmedAt: string
  recoveryCodesLeft: number
  onReplaceCodes: (codes: string[]) => void
}

function ActiveAuthenticator({ confirmedAt, recoveryCodesLeft, onReplaceCodes }: ActiveAuthenticatorProps) {
  const queryClient = useQueryClient()
  const [isRemoving, setRemoving] = useState(false)
  const replace = api.useMutation('post', '/account/recovery-codes', {
    onSuccess: ({ data }) => onReplaceCodes(data.codes),
  })
  const remove = async () => {
    await client.DELETE('/account/totp')
    await queryClient.invalidateQueries(accountOptions)
  }
  return (
    <>
      <Group gap="sm">
        <Badge color="teal" variant="light" tt="none">
          on
        </Badge>
        <Text size="sm" component="div">
          since <Time iso={confirmedAt} />, {recoveryCodesLeft} recovery codes left
        </Text>
      </Group>
      {replace.error !== null && <ErrorNotice error={replace.error} />}
      <Group>
        <Button variant="default" size="xs" onClick={() => replace.mutate({})} loading={replace.isPending}>
          Replace the recovery codes
        </Button>
        <Button variant="subtle" color="red" size="xs" onClick={() => setRemoving(true)}>
          Remove
        </Button>
      </Group>
      {isRemoving && (
        <ConfirmByName
          title="Remove the authenticator app"
          name="authenticator"
          action="Remove"
          onConfirm={remove}
          onClose={() => setRemoving(false)}
        >
          Your password alone will be enough to sign in, and the recovery codes stop working.
        </ConfirmByName>
      )}
    </>
  )
}
