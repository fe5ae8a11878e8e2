import { Badge, Table, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api, client, type Schemas } from '../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { ActionButton } from '../../components/action-button.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { Time } from '../../components/time.tsx'

export function sessionsOptions(id: string) {
  return api.queryOptions('get', '/organization/members/{id}/sessions', { params: { path: { id } } })
}

/** Where somebody is signed in. */
export function MemberSessions({ memberId, name }: { memberId: string; name: string }) {
  const queryClient = useQueryClient()
  const session = useSession()
  const options = sessionsOptions(memberId)
  const query = useQuery(options)
  const count = query.data?.data.length ?? 0
  const isSelf = memberId === session.member.id
  const end = async () => {
    await client.DELETE('/organization/members/{id}/sessions', { params: { path: { id: memberId } } })
    await queryClient.invalidateQueries({ queryKey: isSelf ? ['get', '/session'] : options.queryKey })
  }
  return (
    <Panel
      title="Sessions"
      description="Where this person is signed in to the console. Keys of the API are not affected."
      actions={
        count > 0 &&
        mayDoEverywhere(session, 'sessions:write') && (
          <ActionButton label={`Sign ${name} out everywhere`} onAction={end}>
            {isSelf ? 'Sign out everywhere, here too' : 'Sign out everywhere'}
          </ActionButton>
        )
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Text size="sm">Not signed in anywhere.</Text>
          ) : (
            <SessionTable sessions={data} />
          )
        }
      </QueryView>
    </Panel>
  )
}

function SessionTable({ sessions }: { sessions: Schemas['Session'][] }) {
  return (
    <Table.ScrollContainer minWidth={560}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Last seen</Table.Th>
            <Table.Th>Signed in</Table.Th>
            <Table.Th>With</Table.Th>
            <Table.Th>Address</Table.Th>
            <Table.Th>Browser</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {sessions.map(({ id, current, method, ip, user_agent, created_at, last_seen_at }) => (
            <Table.Tr key={id}>
              <Table.Td>
                <Time iso={last_seen_at} style="age" /> {current && <Badge tt="none">this one</Badge>}
              </Table.Td>
              <Table.Td>
                <Time iso={created_at} style="age" />
              </Table.Td>
              <Table.Td>{method}</Table.Td>
              <Table.Td>{ip ?? '–'}</Table.Td>
              <Table.Td maw={320} style={{ overflowWrap: 'anywhere' }}>
                <Text size="xs" lineClamp={2}>
                  {user_agent ?? '–'}
                </Text>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
