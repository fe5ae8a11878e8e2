import { Badge, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
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
          All of them in the audit log
        </TextLink>
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Text size="sm">None yet.</Text>
          ) : (
            <Table.ScrollContainer minWidth={460}>
              <Table>
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>When</Table.Th>
                    <Table.Th>Change</Table.Th>
                    <Table.Th>Of</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {data.map(({ id, created_at, action, target, outcome }) => (
                    <Table.Tr key={id}>
                      <Table.Td>
                        <Time iso={created_at} style="age" />
                      </Table.Td>
                      <Table.Td>
                        {action}{' '}
                        {outcome === 'refused' && (
                          <Badge color="red" variant="light" tt="none">
                            refused
                          </Badge>
                        )}
                      </Table.Td>
                      <Table.Td style={{ overflowWrap: 'anywhere' }}>{target.name ?? target.id}</Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
          )
        }
      </QueryView>
    </Panel>
  )
}
