import { Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import { formatMoney } from '../format/money.ts'
import { formatCount } from '../format/number.ts'
import { BarChart } from './bar-chart.tsx'
import { type DayUsage, fillDays, listDays } from './days.ts'
import { Money } from './money.tsx'
import { QueryView } from './query-view.tsx'

const dayMs = 86_400_000
const shownDays = 30

/** Whose requests are counted. */
interface UsageFilter {
  field: 'api_key_id' | 'external_user'
  value: string
}

export function dailyUsageOptions({ field, value }: UsageFilter) {
  const end = (Math.floor(Date.now() / dayMs) + 1) * dayMs
  const start = new Date(end - shownDays * dayMs).toISOString()
  return api.queryOptions('post', '/analytics/query', {
    body: {
      metrics: ['total_usage', 'request_count'],
      dimensions: [],
      filters: [{ field, operator: 'eq', value }],
      granularity: 'day',
      limit: shownDays,
      time_range: { start, end: new Date(end).toISOString() },
    },
  })
}

/** Spend and requests, day by day. */
export function DailyUsage(filter: UsageFilter) {
  const query = useQuery(dailyUsageOptions(filter))
  return (
    <QueryView query={query}>
      {({ data }) => {
        const days = fillDays(listDays(shownDays), data.data)
        const last = days.findLast(({ requests }) => requests > 0)
        if (!last) return <Text size="sm">No requests in the last 30 days.</Text>
        return (
          <Stack gap="xs">
            <Group gap="xl">
              <Text size="sm" component="div">
                Spent <Money value={days.reduce((sum, { spent }) => sum + spent, 0)} />
              </Text>
              <Text size="sm">
                Requests {formatCount(days.reduce((sum, { requests }) => sum + requests, 0))}
              </Text>
              <Text size="sm">Last used on {last.day}</Text>
            </Group>
            <DailyRequests days={days} />
          </Stack>
        )
      }}
    </QueryView>
  )
}

function DailyRequests({ days }: { days: DayUsage[] }) {
  return (
    <figure style={{ margin: 0 }}>
      <BarChart
        label="Requests of each day"
        height={80}
        bars={days.map(({ day, requests, spent }) => ({
          key: day,
          label: `${day}: ${formatCount(requests)} requests, ${formatMoney(spent)}`,
          parts: [{ value: requests, color: 'var(--mantine-primary-color-filled)' }],
        }))}
      />
      <Group component="figcaption" justify="space-between">
        <Text size="xs" c="dimmed">
          {days[0]?.day}
        </Text>
        <Text size="xs" c="dimmed">
          {days.at(-1)?.day}
        </Text>
      </Group>
    </figure>
  )
}
