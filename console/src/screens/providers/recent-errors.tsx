import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { FailureTable } from '../../components/failure-table.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import type { errorsOptions } from './queries.ts'

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
            <FailureTable requests={data} />
          ) : (
            <Text size="sm" c="dimmed">
              No failed requests. Requests that another provider served are not listed.
            </Text>
          )
        }
      </QueryView>
    </Panel>
  )
}
