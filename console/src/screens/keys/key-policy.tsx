import { Badge, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { describePolicy } from './policy.ts'

export function policyOptions(hash: string) {
  return api.queryOptions('get', '/keys/{hash}/policy', { params: { path: { hash } } })
}

/** Shows the restrictions on the requests of a key, and where they are set. */
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
              <Text size="sm">No guardrails apply to this key.</Text>
            ) : (
              <DataTable
                columns={columns}
                rows={lines}
                keyOf={({ rule, value }) => `${rule} ${value}`}
                minWidth={480}
              />
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

const columns: Column<ReturnType<typeof describePolicy>[number]>[] = [
  { header: 'Rule', render: ({ rule }) => rule },
  { header: 'Value', breaksWords: true, render: ({ value }) => value },
  {
    header: 'Set by',
    render: ({ layers }) => (
      <Group gap={4}>
        {layers.map((layer) => (
          <Badge key={layer} variant="light" color="gray" tt="none">
            {layer}
          </Badge>
        ))}
      </Group>
    ),
  },
]
