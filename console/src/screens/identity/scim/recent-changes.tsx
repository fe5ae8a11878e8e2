import { Badge, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Schemas } from '../../../api/client.ts'
import { type Column, DataTable } from '../../../components/data-table.tsx'
import { Panel } from '../../../components/panel.tsx'
import { QueryView } from '../../../components/query-view.tsx'
import { TextLink } from '../../../components/text-link.tsx'
import { Time } from '../../../components/time.tsx'
import { recentOptions } from './queries.ts'

/** The newest entries of the audit log that the identity provider caused. */
export function RecentChanges() {
  const query = useQuery(recentOptions)
  return (
    <Panel
      title="Recent changes by the provider"
      description={
        <TextLink to="/audit" search={{ actor_type: 'scim' }}>
          Show all in the audit log
        </TextLink>
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Text size="sm">None yet.</Text>
          ) : (
            <DataTable columns={columns} rows={data} keyOf={({ id }) => id} minWidth={460} />
          )
        }
      </QueryView>
    </Panel>
  )
}

const columns: Column<Schemas['AuditEntry']>[] = [
  { header: 'When', render: ({ created_at }) => <Time iso={created_at} style="age" /> },
  {
    header: 'Change',
    render: ({ action, outcome }) => (
      <>
        {action}{' '}
        {outcome === 'refused' && (
          <Badge color="red" variant="light" tt="none">
            refused
          </Badge>
        )}
      </>
    ),
  },
  { header: 'Of', breaksWords: true, render: ({ target }) => target.name ?? target.id },
]
