import { Code, Group, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../../app/session.tsx'
import { ActionButton } from '../../../components/action-button.tsx'
import { ConfirmByName } from '../../../components/confirm-by-name.tsx'
import { DataTable } from '../../../components/data-table.tsx'
import { DialogButton } from '../../../components/dialog-button.tsx'
import { FormDialog } from '../../../components/form-dialog.tsx'
import { Panel } from '../../../components/panel.tsx'
import { QueryView } from '../../../components/query-view.tsx'
import { SecretOnce } from '../../../components/secret-once.tsx'
import { NameField } from '../../../components/text-field.tsx'
import { Time } from '../../../components/time.tsx'
import { type ScimToken, tokensOptions, useScimRefresh } from './queries.ts'

interface NewToken {
  name: string
  secret: string
  /** The token that this one is to replace. */
  replaced?: ScimToken
}

async function createToken(name: string, replaced?: ScimToken): Promise<NewToken> {
  const { data } = await client.POST('/scim/tokens', { body: { name } })
  if (!data) throw new Error('The server returned no token.')
  return { name, secret: data.token, ...(replaced && { replaced }) }
}

export function Tokens() {
  const mayChange = mayDoEverywhere(useSession(), 'scim:write')
  const query = useQuery(tokensOptions)
  const refresh = useScimRefresh()
  const [created, setCreated] = useState<NewToken | null>(null)
  const close = () => {
    setCreated(null)
    void refresh()
  }
  return (
    <Panel
      title="Tokens"
      description="Identity providers authenticate with a token, which gives access to SCIM of this organization only."
      actions={
        mayChange && (
          <DialogButton label="Create a token">
            {(closeForm) => <CreateToken onCreate={setCreated} onClose={closeForm} />}
          </DialogButton>
        )
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Text size="sm">
              None yet. Create a token, and enter it at your provider together with the base URL.
            </Text>
          ) : (
            <TokenTable tokens={data} mayChange={mayChange} onRotate={setCreated} />
          )
        }
      </QueryView>
      {created && (
        <SecretOnce title={`The token ${created.name}`} secret={created.secret} onClose={close}>
          {created.replaced && (
            <Text size="sm">
              Enter it at your identity provider. The old token {created.replaced.label} works until you
              revoke it.
            </Text>
          )}
        </SecretOnce>
      )}
    </Panel>
  )
}

interface CreateTokenProps {
  onCreate: (token: NewToken) => void
  onClose: () => void
}

function CreateToken({ onCreate, onClose }: CreateTokenProps) {
  const [name, setName] = useState('')
  return (
    <FormDialog
      title="Create a token"
      action="Create"
      isReady={name.trim() !== ''}
      onSubmit={async () => onCreate(await createToken(name.trim()))}
      onClose={onClose}
    >
      <NameField description="The identity provider that will use it" value={name} onChange={setName} />
    </FormDialog>
  )
}

interface TokenTableProps {
  tokens: ScimToken[]
  mayChange: boolean
  onRotate: (token: NewToken) => void
}

function TokenTable({ tokens, mayChange, onRotate }: TokenTableProps) {
  return (
    <DataTable
      rows={tokens}
      keyOf={({ id }) => id}
      minWidth={500}
      columns={[
        { header: 'Name', breaksWords: true, render: ({ name }) => name },
        { header: 'Token', render: ({ label }) => <Code>{label}</Code> },
        { header: 'Created', render: ({ created_at }) => <Time iso={created_at} style="age" /> },
        mayChange && {
          header: 'Actions',
          isHeaderHidden: true,
          render: (token) => (
            <Group gap="xs">
              <ActionButton
                label={`Rotate ${token.name}`}
                onAction={async () => onRotate(await createToken(token.name, token))}
              >
                Rotate
              </ActionButton>
              <RevokeToken token={token} />
            </Group>
          ),
        },
      ]}
    />
  )
}

function RevokeToken({ token: { id, name, label } }: { token: ScimToken }) {
  const refresh = useScimRefresh()
  const revoke = async () => {
    await client.DELETE('/scim/tokens/{id}', { params: { path: { id } } })
    await refresh()
  }
  return (
    <DialogButton label="Revoke" description={`Revoke ${name} ${label}`} color="red" variant="outline">
      {(close) => (
        <ConfirmByName title="Revoke a token" name={name} action="Revoke" onConfirm={revoke} onClose={close}>
          The identity provider that uses {label} is refused at once. Members and groups stay as they are.
        </ConfirmByName>
      )}
    </DialogButton>
  )
}
