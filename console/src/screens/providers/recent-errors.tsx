import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Schemas } from '../../api/client.ts'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import type { errorsOptions } from './queries.ts'

type LoggedRequest = Schemas['LoggedRequest']

interface RecentErrorsProps {
  provider: string
  options: ReturnType<typeof errorsOptions>
}

/** The newest requests that failed at the provider, in its words. */
export function RecentErrors({ provider, options }: RecentErrorsProps) {
  const query = useQuery(options)
  return (
    <Panel
      title="Errors of the last hour"
      actions={
        <TextLink
          to="/requests"
          search={{ provider, status: 'failed', period: '1h' }}
          size="sm"
          aria-label="All failed requests of the last hour"
        >
          All
        </TextLink>
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length > 0 ? (
            <DataTable columns={columns} rows={data} keyOf={({ id }) => id} minWidth={300} />
          ) : (
            <Text size="sm" c="dimmed">
              No request failed. Those that another provider served afterwards are not listed here.
            </Text>
          )
        }
      </QueryView>
    </Panel>
  )
}

const columns: Column<LoggedRequest>[] = [
  {
    header: 'Time',
    render: ({ id, created_at }) => (
      <TextLink to="/requests/$id" params={{ id }} size="sm" style={{ whiteSpace: 'nowrap' }}>
        <Time iso={created_at} style="age" />
      </TextLink>
    ),
  },
  {
    header: 'Error',
    breaksWords: true,
    maxWidth: 480,
    render: ({ error_code, message }) => message ?? error_code ?? 'canceled',
  },
  { header: 'Model', breaksWords: true, visibleFrom: 'sm', render: ({ model }) => model ?? '–' },
  { header: 'Key', breaksWords: true, visibleFrom: 'md', render: ({ key }) => key?.name ?? '–' },
]
