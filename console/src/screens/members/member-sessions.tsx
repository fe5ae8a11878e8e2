import { Badge, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api, client, type Schemas } from '../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { ActionButton } from '../../components/action-button.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { Time } from '../../components/time.tsx'

export function sessionsOptions(id: string) {
  return api.queryOptions('get', '/organization/members/{id}/sessions', { params: { path: { id } } })
}

/** Lists the sessions of a member. */
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
      description="Console sessions of this person. API keys are not affected."
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
          data.length === 0 ? <Text size="sm">No active sessions.</Text> : <SessionTable sessions={data} />
        }
      </QueryView>
    </Panel>
  )
}

function SessionTable({ sessions }: { sessions: Schemas['Session'][] }) {
  return <DataTable columns={columns} rows={sessions} keyOf={({ id }) => id} minWidth={560} />
}

const columns: Column<Schemas['Session']>[] = [
  {
    header: 'Last seen',
    render: ({ current, last_seen_at }) => (
      <>
        <Time iso={last_seen_at} style="age" /> {current && <Badge tt="none">this one</Badge>}
      </>
    ),
  },
  { header: 'Signed in', render: ({ created_at }) => <Time iso={created_at} style="age" /> },
  { header: 'With', render: ({ method }) => method },
  { header: 'Address', render: ({ ip }) => ip ?? '–' },
  {
    header: 'Browser',
    breaksWords: true,
    maxWidth: 320,
    render: ({ user_agent }) => (
      <Text size="xs" lineClamp={2}>
        {user_agent ?? '–'}
      </Text>
    ),
  },
]
