import { Badge, Group, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { api, client, type Schemas } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { ActionButton } from '../../components/action-button.tsx'
import { Item, ItemList } from '../../components/item-list.tsx'
import { PagedList } from '../../components/paged-list.tsx'
import { Panel } from '../../components/panel.tsx'
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

/** Lists notifications, read or not. */
export function History({ offset, onChange }: HistoryProps) {
  const query = useQuery({ ...historyOptions(offset), placeholderData: keepPreviousData })
  return (
    <Panel title="History" description="Newest first. Kept for 90 days, longer while unresolved.">
      <PagedList
        query={query}
        offset={offset}
        size={pageSize}
        onPage={onChange}
        empty={<Text size="sm">No notifications yet. Rules are evaluated about once a minute.</Text>}
      >
        {(rows) => (
          <ItemList>
            {rows.map((notification) => (
              <NotificationItem key={notification.id} notification={notification} />
            ))}
          </ItemList>
        )}
      </PagedList>
    </Panel>
  )
}

function NotificationItem({ notification }: { notification: Notification }) {
  const { id, kind, title, text, created_at, read_at } = notification
  const mayChange = mayDo(useSession(), 'notifications:write')
  const refresh = useRefresh()
  const mark = async () => {
    await client.PATCH('/notifications/{id}', { params: { path: { id } }, body: { read: read_at === null } })
    await refresh('/notifications')
  }
  const action = read_at === null ? 'Mark as read' : 'Mark as unread'
  return (
    <Item
      actions={
        mayChange && (
          <ActionButton label={`${action}: ${title}`} onAction={mark}>
            {action}
          </ActionButton>
        )
      }
    >
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
    </Item>
  )
}
