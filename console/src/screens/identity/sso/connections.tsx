import { Code, Group, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { client } from '../../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../../app/session.tsx'
import { ConfirmByName } from '../../../components/confirm-by-name.tsx'
import { Id } from '../../../components/copy.tsx'
import { DialogButton } from '../../../components/dialog-button.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { Item, ItemList } from '../../../components/item-list.tsx'
import { Panel } from '../../../components/panel.tsx'
import { QueryView } from '../../../components/query-view.tsx'
import { formatCount } from '../../../format/number.ts'
import { ConnectionForm } from './connection-form.tsx'
import { ConnectionTest } from './connection-test.tsx'
import { type Connection, connectionsOptions, useSsoRefresh } from './queries.ts'

export function Connections() {
  const mayChange = mayDoEverywhere(useSession(), 'sso:write')
  const query = useQuery(connectionsOptions)
  return (
    <Panel
      title="Connections"
      description="The OpenID Connect providers that members sign in with."
      actions={
        mayChange && (
          <DialogButton label="Add a connection">
            {(close) => <ConnectionForm onClose={close} />}
          </DialogButton>
        )
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState title="No connection yet">
              Members sign in with a password, a passkey or a link. Add a connection to let them sign in with
              the identity provider of your company.
            </EmptyState>
          ) : (
            <ConnectionList connections={data} mayChange={mayChange} />
          )
        }
      </QueryView>
    </Panel>
  )
}

interface ConnectionListProps {
  connections: Connection[]
  mayChange: boolean
}

function ConnectionList({ connections, mayChange }: ConnectionListProps) {
  return (
    <ItemList>
      {connections.map((connection) => (
        <Item
          key={connection.id}
          record={connection}
          actions={mayChange && <ConnectionActions connection={connection} />}
        >
          <Text size="sm" fw={600}>
            {connection.name}
          </Text>
          <Code>{connection.issuer}</Code>
          <div>
            <Id value={connection.id} />
          </div>
          <Text size="sm" c="dimmed">
            New people {connection.jit ? 'become members' : 'are refused'} ·{' '}
            {describeMappings(connection.mappings.length)}
          </Text>
        </Item>
      ))}
    </ItemList>
  )
}

function describeMappings(count: number): string {
  return count === 1 ? '1 mapping' : `${formatCount(count)} mappings`
}

function ConnectionActions({ connection }: { connection: Connection }) {
  const refresh = useSsoRefresh()
  const { id, name } = connection
  const remove = async () => {
    await client.DELETE('/organization/sso/connections/{id}', { params: { path: { id } } })
    await refresh()
  }
  return (
    <Group gap="xs">
      <DialogButton label="Edit" description={`Edit ${name}`} variant="default">
        {(close) => <ConnectionForm connection={connection} onClose={close} />}
      </DialogButton>
      <DialogButton label="Test" description={`Test ${name}`} variant="default">
        {(close) => <ConnectionTest connection={connection} onClose={close} />}
      </DialogButton>
      <DialogButton label="Remove" description={`Remove ${name}`} color="red" variant="outline">
        {(close) => (
          <ConfirmByName
            title="Remove a connection"
            name={name}
            action="Remove"
            onConfirm={remove}
            onClose={close}
          >
            Its sessions end, and the roles and workspaces that it granted are removed. The members remain.
          </ConfirmByName>
        )}
      </DialogButton>
    </Group>
  )
}
