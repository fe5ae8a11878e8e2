import { Badge, Group, Stack, Text } from '@mantine/core'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, client, type Schemas } from '../../api/client.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { ActionButton } from '../../components/action-button.tsx'
import { Pager } from '../../components/pager.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { Time } from '../../components/time.tsx'
import { ruleKinds } from './rule-kinds.ts'

type Notification = Schemas['Notification']

const pageSize = 20

export function historyOptions(offset: number) {
  return api.queryOptions('get', '/notifications', { params: { query: { offset, limit: pageSize } } })
}

interface HistoryProps {
  offset: number
  onChange: (offset: number) => void
}

/** What was notified, read or not. */
export function History({ offset, onChange }: HistoryProps) {
  const query = useQuery({ ...historyOptions(offset), placeholderData: keepPreviousData })
  return (
    <Panel
      title="History"
      description="Newest first. Notifications are kept for 90 days, and as long as what they report lasts."
    >
      <QueryView query={query}>
        {({ data, total_count }) =>
          data.length === 0 ? (
            <Text size="sm">Nothing was notified yet. Rules are evaluated about once a minute.</Text>
          ) : (
            <Stack component="ul" gap="md" p={0} m={0} style={{ listStyle: 'none' }}>
              {data.map((notification) => (
                <NotificationItem key={notification.id} notification={notification} />
              ))}
              <Pager offset={offset} size={pageSize} total={total_count} onChange={onChange} />
            </Stack>
          )
        }
      </QueryView>
    </Panel>
  )
}

function NotificationItem({ notification }: { notification: Notification }) {
  const { id, kind, title, text, created_at, read_at } = notification
  const mayChange = mayDo(useSession(), 'notifications:write')
  const queryClient = useQueryClient()
  const mark = async () => {
    await client.PATCH('/notifications/{id}', { params: { path: { id } }, body: { read: read_at === null } })
    await queryClient.invalidateQueries({ queryKey: ['get', '/notifications'] })
  }
  const action = read_at === null ? 'Mark as read' : 'Mark as unread'
  return (
    <li>
      <Group justify="space-between" align="flex-start" gap="xs">
        <div style={{ flex: '1 1 240px', minWidth: 0, overflowWrap: 'anywhere' }}>
          <Group gap="xs">
            <Text size="sm" fw={600}>
              {title}
            </Text>
            <Badge variant="light" color="gray" tt="none">
              {ruleKinds[kind].label}
            </Badge>
            {read_at === null && (
              <Badge variant="light" tt="none">
                unread
              </Badge>
            )}
          </Group>
          <Text size="sm">{text}</Text>
          <Text size="xs" c="dimmed" component="div">
            <Time iso={created_at} />
          </Text>
        </div>
        {mayChange && (
          <ActionButton label={`${action}: ${title}`} onAction={mark}>
            {action}
          </ActionButton>
        )}
      </Group>
    </li>
  )
}
