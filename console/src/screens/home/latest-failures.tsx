import { Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { FailureTable } from '../../components/failure-table.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { failuresQuery, type Selection } from './queries.ts'

const skeletonRows = ['first', 'second', 'third', 'fourth']

/** The newest requests that failed or were refused. */
export function LatestFailures({ selection }: { selection: Selection }) {
  const query = useQuery(failuresQuery(selection))
  return (
    <Panel
      title="Latest failures"
      actions={
        <TextLink
          to="/requests"
          search={{ status: 'error', period: '7d' }}
          size="sm"
          aria-label="All failed and refused requests"
        >
          All
        </TextLink>
      }
    >
      {query.isPending ? (
        <Stack gap="sm" aria-busy="true" aria-label="Loading">
          {skeletonRows.map((row) => (
            <Skeleton key={row} height={24} />
          ))}
        </Stack>
      ) : (
        <QueryView query={query}>
          {({ data, cursor }) =>
            data.length > 0 ? (
              <FailureTable requests={data} isMixed />
            ) : (
              <Text size="sm" c="dimmed">
                {cursor === null
                  ? 'No request failed or was refused in the last 7 days.'
                  : 'None of the newest requests failed.'}
              </Text>
            )
          }
        </QueryView>
      )}
    </Panel>
  )
}
