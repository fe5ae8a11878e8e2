import { Anchor, Group, Paper, SimpleGrid, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api } from '../../api/client.ts'
import { visibleNavigation } from '../../app/navigation.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Figure } from '../../components/figure.tsx'
import { Money } from '../../components/money.tsx'
import { Time } from '../../components/time.tsx'
import { formatCount } from '../../format/number.ts'

const dayMs = 86_400_000

export const creditsOptions = api.queryOptions('get', '/credits')
export const unreadOptions = api.queryOptions('get', '/notifications', {
  params: { query: { unread: true, limit: 5 } },
})

/** Requests since midnight UTC, by how they ended. */
export function todayOptions() {
  const midnight = Math.floor(Date.now() / dayMs) * dayMs
  return api.queryOptions('post', '/analytics/query', {
    body: {
      metrics: ['request_count', 'total_usage'],
      dimensions: ['finish_reason'],
      filters: [],
      limit: 100,
      time_range: { start: new Date(midnight).toISOString(), end: new Date(midnight + dayMs).toISOString() },
    },
  })
}

/** The overview once everything is set up. */
export function Overview() {
  const session = useSession()
  const credits = useQuery({ ...creditsOptions, enabled: mayDo(session, 'credits:read') })
  const today = useQuery({ ...todayOptions(), enabled: mayDo(session, 'activity:read') })
  const unread = useQuery({ ...unreadOptions, enabled: mayDo(session, 'notifications:read') })
  const error = credits.error ?? today.error ?? unread.error
  const totals = today.data && sumRows(today.data.data.data)
  const balance = credits.data && credits.data.data.total_credits - credits.data.data.total_usage
  return (
    <Stack>
      {error !== null && <ErrorNotice error={error} />}
      <SimpleGrid cols={{ base: 2, sm: 4 }}>
        {balance !== undefined && (
          <Figure label="Balance">
            <Money value={balance} />
          </Figure>
        )}
        {totals && (
          <>
            <Figure label="Spent today">
              <Money value={totals.spent} />
            </Figure>
            <Figure label="Requests today">{formatCount(totals.requests)}</Figure>
            <Figure label="Failed today" color={totals.failed > 0 ? 'red' : undefined}>
              {formatCount(totals.failed)}
            </Figure>
          </>
        )}
      </SimpleGrid>
      {totals && (
        <Text size="xs" c="dimmed">
          Days begin at midnight UTC.
        </Text>
      )}
      {unread.data && unread.data.data.length > 0 && (
        <Paper withBorder p="md">
          <Text component="h2" fw={600} pb="xs">
            Open notifications
          </Text>
          <Stack gap="xs">
            {unread.data.data.map(({ id, title, created_at }) => (
              <Group key={id} justify="space-between" gap="xs">
                <Text size="sm">{title}</Text>
                <Text size="xs" c="dimmed">
                  <Time iso={created_at} style="age" />
                </Text>
              </Group>
            ))}
          </Stack>
        </Paper>
      )}
      <ScreenLinks />
    </Stack>
  )
}

function ScreenLinks() {
  const items = visibleNavigation(useSession()).flatMap(({ items }) => items)
  return (
    <Group component="nav" aria-label="Shortcuts" gap="md">
      {items
        .filter(({ to }) => to !== '/')
        .map(({ to, label }) => (
          <Anchor key={to} component={Link} to={to} size="sm">
            {label}
          </Anchor>
        ))}
    </Group>
  )
}

interface Totals {
  requests: number
  spent: number
  failed: number
}

/** A request without a finish reason, or with `error`, has failed. */
function sumRows(rows: Record<string, string | number | null>[]): Totals {
  const totals: Totals = { requests: 0, spent: 0, failed: 0 }
  for (const { finish_reason, request_count, total_usage } of rows) {
    totals.requests += Number(request_count)
    totals.spent += Number(total_usage)
    if (finish_reason === null || finish_reason === 'error') totals.failed += Number(request_count)
  }
  return totals
}
