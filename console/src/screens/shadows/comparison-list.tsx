import { Stack, Switch, Text } from '@mantine/core'
import { useState } from 'react'
import { api, client, type Schemas } from '../../api/client.ts'
import { useCursorPages } from '../../api/use-cursor-pages.ts'
import { CursorList } from '../../components/cursor-list.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Money } from '../../components/money.tsx'
import { Panel } from '../../components/panel.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { formatDuration } from '../../format/number.ts'
import { formatTime } from '../../format/time.ts'
import { describeKind } from './words.ts'

type Comparison = Schemas['ShadowComparison']
type Side = Comparison['original']

export function ComparisonList({ id }: { id: string }) {
  const [isDiffering, setDiffering] = useState(true)
  const params = { path: { id }, query: { differing: isDiffering } }
  const query = useCursorPages(
    api.queryOptions('get', '/shadows/{id}/comparisons', { params }),
    (position, signal) =>
      client.GET('/shadows/{id}/comparisons', {
        params: { ...params, query: { ...params.query, ...position } },
        signal,
      }),
  )
  return (
    <Panel
      title="Requests"
      actions={
        <Switch
          label="Only those that differ"
          checked={isDiffering}
          onChange={(event) => setDiffering(event.currentTarget.checked)}
        />
      }
    >
      <CursorList
        query={query}
        more="Show older requests"
        empty={<EmptyState title="No requests">Mirrors appear here once they are compared.</EmptyState>}
      >
        {(rows) => <ComparisonTable rows={rows} />}
      </CursorList>
    </Panel>
  )
}

function ComparisonTable({ rows }: { rows: Comparison[] }) {
  return (
    <DataTable
      rows={rows}
      keyOf={({ id }) => id}
      minWidth={620}
      columns={[
        { header: 'Time', render: ({ created_at }) => formatTime(created_at) },
        {
          header: 'Original',
          breaksWords: true,
          maxWidth: 220,
          render: ({ original }) => <SideView side={original} />,
        },
        {
          header: 'Mirror',
          breaksWords: true,
          maxWidth: 220,
          render: ({ mirror }) => <SideView side={mirror} />,
        },
        {
          header: 'Differences',
          breaksWords: true,
          maxWidth: 420,
          render: (comparison) => <Differences comparison={comparison} />,
        },
      ]}
    />
  )
}

function SideView({ side }: { side: Side }) {
  const { generation_id, external_id, model, provider, error, finish_reason, latency_ms, cost_usd } = side
  return (
    <Stack gap={2}>
      {generation_id ? (
        <TextLink to="/requests/$id" params={{ id: generation_id }} size="sm">
          {model || generation_id}
        </TextLink>
      ) : (
        <Text size="sm">{model || external_id}</Text>
      )}
      <Text size="xs" c="dimmed">
        {[provider, error ?? finish_reason, latency_ms !== null && formatDuration(latency_ms)]
          .filter(Boolean)
          .join(', ')}
      </Text>
      <Text size="xs" c="dimmed">
        <Money value={cost_usd} />
      </Text>
    </Stack>
  )
}

function Differences({ comparison: { original, mirror, differences, omitted } }: { comparison: Comparison }) {
  const [one, other] = [original.generation_id, mirror.generation_id]
  return (
    <Stack gap={2}>
      {differences.map(({ kind, path, ...values }) => (
        <Text key={`${kind} ${path}`} size="sm">
          {[describeKind(kind), path].filter(Boolean).join(' ')}: {values.original ?? 'nothing'} →{' '}
          {values.mirror ?? 'nothing'}
        </Text>
      ))}
      {omitted > 0 && <Text size="sm">and {omitted} more</Text>}
      {one && other && (
        <TextLink to="/requests/compare" search={{ one, other }} size="sm">
          Compare the requests
        </TextLink>
      )}
    </Stack>
  )
}
