import { Button, Code, Group, Table, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../../app/session.tsx'
import { ActionButton } from '../../../components/action-button.tsx'
import { ConfirmByName } from '../../../components/confirm-by-name.tsx'
import { FormDialog } from '../../../components/form-dialog.tsx'
import { Panel } from '../../../components/panel.tsx'
import { QueryView } from '../../../components/query-view.tsx'
import { SecretOnce } from '../../../components/secret-once.tsx'
import { Time } from '../../../components/time.tsx'
import { type ScimToken, tokensOptions, useRefresh } from './queries.ts'

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
  const refresh = useRefresh()
  const [isCreating, setCreating] = useState(false)
  const [created, setCreated] = useState<NewToken | null>(null)
  const close = () => {
    setCreated(null)
    void refresh()
  }
  return (
    <Panel
      title="Tokens"
      description="An identity provider sends a token with every request. It opens SCIM of this organization and nothing else."
      actions={
        mayChange && (
          <Button size="xs" onClick={() => setCreating(true)}>
            Create a token
          </Button>
        )
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Text size="sm">None yet. Create one, and enter it with the base URL at your provider.</Text>
          ) : (
            <TokenTable tokens={data} mayChange={mayChange} onRotate={setCreated} />
          )
        }
      </QueryView>
      {isCreating && <CreateToken onCreate={setCreated} onClose={() => setCreating(false)} />}
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
      <TextInput
        label="Name"
        description="The identity provider that will use it"
        required
        data-autofocus
        maxLength={100}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
    </FormDialog>
  )
}

interface TokenTableProps {
  tokens: ScimToken[]
  mayChange: boolean
  onRotate: (token: NewToken) => void
}

function TokenTable({ tokens, mayChange, onRotate }: TokenTableProps) {
  const refresh = useRefresh()
  const [revoked, setRevoked] = useState<ScimToken | null>(null)
  const revoke = async ({ id }: ScimToken) => {
    await client.DELETE('/scim/tokens/{id}', { params: { path: { id } } })
    await refresh()
  }
  return (
    <Table.ScrollContainer minWidth={500}>
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th>Token</Table.Th>
            <Table.Th>Created</Table.Th>
            {mayChange && <Table.Th>Actions</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {tokens.map((token) => (
            <Table.Tr key={token.id}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{token.name}</Table.Td>
              <Table.Td>
                <Code>{token.label}</Code>
              </Table.Td>
              <Table.Td>
                <Time iso={token.created_at} style="age" />
              </Table.Td>
              {mayChange && (
                <Table.Td>
                  <Group gap="xs">
                    <ActionButton
                      label={`Rotate ${token.name}`}
                      onAction={async () => onRotate(await createToken(token.name, token))}
                    >
                      Rotate
                    </ActionButton>
                    <Button
                      size="xs"
                      variant="outline"
                      color="red"
                      aria-label={`Revoke ${token.name}`}
                      onClick={() => setRevoked(token)}
                    >
                      Revoke
                    </Button>
                  </Group>
                </Table.Td>
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {revoked && (
        <ConfirmByName
          title="Revoke a token"
          name={revoked.name}
          action="Revoke"
          onConfirm={() => revoke(revoked)}
          onClose={() => setRevoked(null)}
        >
          The identity provider that uses {revoked.label} is refused at once. Members and groups stay as they
          are.
        </ConfirmByName>
      )}
    </Table.ScrollContainer>
  )
}
