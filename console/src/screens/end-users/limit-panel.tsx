import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { allPages } from '../../api/all-pages.ts'
import { api, type Schemas } from '../../api/client.ts'
import { DataTable } from '../../components/data-table.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { UsageBar } from '../../components/usage-bar.tsx'
import { formatMoney } from '../../format/money.ts'
import { formatCount } from '../../format/number.ts'

type Usage = Schemas['LimitUsage']

const params = { query: { source: 'limit' as const, limit: 100 } }

/** The declared limits that count the requests of an end user. */
export function LimitPanel({ name }: { name: string }) {
  const query = useQuery(allPages(api.queryOptions('get', '/limits', { params })))
  const usage = useQuery(allPages(api.queryOptions('get', '/limits/usage', { params })))
  const countsOf = (id: string) => usage.data?.data.find((entry) => entry.id === id)?.counts ?? []
  return (
    <Panel title="Limits" actions={<TextLink to="/limits">All limits</TextLink>}>
      <QueryView query={query}>
        {({ data }) => {
          const limits = data.filter(
            ({ match, per }) =>
              match.end_user === name || (match.end_user === null && per.includes('end_user')),
          )
          if (limits.length === 0)
            return <Text size="sm">No limit is set for this end user, or for each end user.</Text>
          return (
            <DataTable
              rows={limits}
              keyOf={({ id }) => id}
              minWidth={320}
              columns={[
                { header: 'Name', breaksWords: true, render: (limit) => limit.name },
                {
                  header: 'Used now',
                  render: (limit) => <Used limit={limit} counts={countsOf(limit.id)} name={name} />,
                },
              ]}
            />
          )
        }}
      </QueryView>
    </Panel>
  )
}

interface UsedProps {
  limit: Schemas['Limit']
  counts: Usage['counts']
  name: string
}

/** The count of the end user that is closest to the limit. */
function Used({ limit: { measure, amount, window }, counts, name }: UsedProps) {
  const count = counts.find(({ counter }) => (counter.end_user ?? name) === name)
  if (!count) return <Text size="sm">Not among the highest counts</Text>
  return (
    <UsageBar
      used={count.used}
      limit={amount}
      interval={window === null ? null : (windowTexts[window] ?? `a ${window}`)}
      format={measure === 'usd' ? formatMoney : formatCount}
    />
  )
}

const windowTexts: Record<string, string> = { hour: 'an hour', lifetime: 'in total' }
