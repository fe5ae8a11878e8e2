import { Badge, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { api, type Schemas } from '../../api/client.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { Time } from '../../components/time.tsx'
import { UsageBar } from '../../components/usage-bar.tsx'

export const screen = createLazyRoute('/keys')({ component: KeysScreen })

const keys = api.queryOptions('get', '/keys')

function KeysScreen() {
  const query = useQuery(keys)
  return (
    <Page title="API keys" description="Applications send a key with every request." calls={[callOf(keys)]}>
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState title="No keys yet">Create one.</EmptyState>
          ) : (
            <KeyTable keys={data} />
          )
        }
      </QueryView>
    </Page>
  )
}

function KeyTable({ keys }: { keys: Schemas['ApiKey'][] }) {
  return (
    <Table.ScrollContainer minWidth={700}>
      <Table highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th>Used</Table.Th>
            <Table.Th>Created</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {keys.map((key) => (
            <Table.Tr key={key.hash}>
              <Table.Td>
                {key.name} {key.disabled && <Badge color="gray">disabled</Badge>}
                <Text size="xs" c="dimmed">
                  {key.label}
                </Text>
              </Table.Td>
              <Table.Td>
                <UsageBar used={key.usage} limit={key.limit} interval={key.limit_reset} />
              </Table.Td>
              <Table.Td>
                <Time iso={key.created_at} style="age" />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
