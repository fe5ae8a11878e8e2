import { Button, Code, Group, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../../app/session.tsx'
import { ConfirmByName } from '../../../components/confirm-by-name.tsx'
import { Id } from '../../../components/copy.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { Item, ItemList } from '../../../components/item-list.tsx'
import { Panel } from '../../../components/panel.tsx'
import { QueryView } from '../../../components/query-view.tsx'
import { formatCount } from '../../../format/number.ts'
import { ConnectionForm } from './connection-form.tsx'
import { ConnectionTest } from './connection-test.tsx'
import { type Connection, connectionsOptions, useRefresh } from './queries.ts'

export function Connections() {
  const mayChange = mayDoEverywhere(useSession(), 'sso:write')
  const query = useQuery(connectionsOptions)
  const [isAdding, setAdding] = useState(false)
  return (
    <Panel
      title="Connections"
      description="The OpenID Connect providers that members sign in with."
      actions={
        mayChange && (
          <Button size="xs" onClick={() => setAdding(true)}>
            Add a connection
          </Button>
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
      {isAdding && <ConnectionForm onClose={() => setAdding(false)} />}
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
        <Item key={connection.id} actions={mayChange && <ConnectionActions connection={connection} />}>
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
  const refresh = useRefresh()
  const [open, setOpen] = useState<'edit' | 'test' | 'remove' | null>(null)
  const close = () => setOpen(null)
  const { id, name } = connection
  const remove = async () => {
    await client.DELETE('/organization/sso/connections/{id}', { params: { path: { id } } })
    await refresh()
  }
  return (
    <Group gap="xs">
      <Button size="xs" variant="default" aria-label={`Edit ${name}`} onClick={() => setOpen('edit')}>
        Edit
      </Button>
      <Button size="xs" variant="default" aria-label={`Test ${name}`} onClick={() => setOpen('test')}>
        Test
      </Button>
      <Button
        size="xs"
        variant="outline"
        color="red"
        aria-label={`Remove ${name}`}
        onClick={() => setOpen('remove')}
      >
        Remove
      </Button>
      {open === 'edit' && <ConnectionForm connection={connection} onClose={close} />}
      {open === 'test' && <ConnectionTest connection={connection} onClose={close} />}
      {open === 'remove' && (
        <ConfirmByName
          title="Remove a connection"
          name={name}
          action="Remove"
          onConfirm={remove}
          onClose={close}
        >
          Sessions that began with it end, and the roles and workspaces that it gave are taken away. The
          members stay.
        </ConfirmByName>
      )}
    </Group>
  )
}
