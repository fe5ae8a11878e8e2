import { ActionIcon, Button, Group, Indicator, Popover, ScrollArea, Stack, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api, type Schemas } from '../api/client.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { BellIcon } from '../components/icons.tsx'
import { Time } from '../components/time.tsx'
import { mayDo, useSession } from './session.tsx'

const pollMs = 60_000
const shown = 20

/** Shows unread notifications; hidden from members who may not read them. */
export function NotificationBell() {
  const session = useSession()
  const isAllowed = mayDo(session, 'notifications:read')
  const options = api.queryOptions('get', '/notifications', {
    params: { query: { unread: true, limit: shown } },
  })
  const { data, error } = useQuery({ ...options, enabled: isAllowed, refetchInterval: pollMs })
  if (!isAllowed) return null
  const count = data?.total_count ?? 0
  const label = count === 0 ? 'Notifications' : `Notifications, ${count} unread`
  return (
    <Popover width={380} position="bottom-end" shadow="md" trapFocus returnFocus>
      <Indicator disabled={count === 0} label={count > 99 ? '99+' : count} size={16} offset={5} color="red.8">
        <Popover.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={label}>
            <BellIcon />
          </ActionIcon>
        </Popover.Target>
      </Indicator>
      <Popover.Dropdown maw="calc(100vw - 24px)">
        {error !== null && <ErrorNotice error={error} />}
        {data && <NotificationList notifications={data.data} />}
      </Popover.Dropdown>
    </Popover>
  )
}

function NotificationList({ notifications }: { notifications: Schemas['Notification'][] }) {
  const session = useSession()
  const queryClient = useQueryClient()
  const onSuccess = () => queryClient.invalidateQueries({ queryKey: ['get', '/notifications'] })
  const readOne = api.useMutation('patch', '/notifications/{id}', { onSuccess })
  const readAll = api.useMutation('post', '/notifications/read', { onSuccess })
  const canWrite = mayDo(session, 'notifications:write')
  const error = readOne.error ?? readAll.error
  if (notifications.length === 0) {
    return (
      <EmptyState title="Nothing to read">
        Low credits, used budgets, keys that expire and providers that fail appear here.
      </EmptyState>
    )
  }
  return (
    <Stack gap="sm">
      {error !== null && <ErrorNotice error={error} />}
      <ScrollArea.Autosize mah={360}>
        <Stack gap="sm">
          {notifications.map((notification) => (
            <NotificationItem
              key={notification.id}
              notification={notification}
              {...(canWrite && {
                onRead: () =>
                  readOne.mutate({ params: { path: { id: notification.id } }, body: { read: true } }),
              })}
            />
          ))}
        </Stack>
      </ScrollArea.Autosize>
      {canWrite && (
        <Button variant="default" size="xs" onClick={() => readAll.mutate({})} loading={readAll.isPending}>
          Mark all as read
        </Button>
      )}
    </Stack>
  )
}

interface NotificationItemProps {
  notification: Schemas['Notification']
  onRead?: () => void
}

function NotificationItem({ notification: { title, text, created_at }, onRead }: NotificationItemProps) {
  return (
    <div>
      <Text size="sm" fw={600}>
        {title}
      </Text>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {text}
      </Text>
      <Group justify="space-between" gap="xs">
        <Text size="xs" c="dimmed" component="div">
          <Time iso={created_at} style="age" />
        </Text>
        {onRead && (
          <Button variant="subtle" size="compact-xs" onClick={onRead} aria-label={`Mark as read: ${title}`}>
            Mark as read
          </Button>
        )}
      </Group>
    </div>
  )
}
