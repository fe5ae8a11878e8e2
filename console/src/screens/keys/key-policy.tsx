import { Badge, Group, Stack, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { QueryView } from '../../components/query-view.tsx'
import { describePolicy } from './policy.ts'

export function policyOptions(hash: string) {
  return api.queryOptions('get', '/keys/{hash}/policy', { params: { path: { hash } } })
}

/** What restricts the requests of a key, and where it is set. */
export function KeyPolicyView({ hash }: { hash: string }) {
  const query = useQuery(policyOptions(hash))
  return (
    <QueryView query={query}>
      {({ data }) => {
        const lines = describePolicy(data)
        const dryRuns = data.layers.filter(({ dry_run }) => dry_run)
        return (
          <Stack gap="sm">
            {lines.length === 0 ? (
              <Text size="sm">
                Nothing restricts this key but its limit. A guardrail of the organization, the workspace, the
                creator or the key would appear here.
              </Text>
            ) : (
              <PolicyTable lines={lines} />
            )}
            {dryRuns.map(({ layer, name }) => (
              <Text key={layer} size="sm" c="dimmed">
                The guardrail {name} of the {layer} is a dry run: it only records what it would do.
              </Text>
            ))}
          </Stack>
        )
      }}
    </QueryView>
  )
}

function PolicyTable({ lines }: { lines: ReturnType<typeof describePolicy> }) {
  return (
    <Table.ScrollContainer minWidth={480}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Rule</Table.Th>
            <Table.Th>Value</Table.Th>
            <Table.Th>Set by</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {lines.map(({ rule, value, layers }) => (
            <Table.Tr key={`${rule} ${value}`}>
              <Table.Td>{rule}</Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{value}</Table.Td>
              <Table.Td>
                <Group gap={4}>
                  {layers.map((layer) => (
                    <Badge key={layer} variant="light" color="gray" tt="none">
                      {layer}
                    </Badge>
                  ))}
                </Group>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
