import { Anchor, Group, Progress, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Change } from '../../components/change.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { useGrowingRows } from '../../components/use-growing-rows.ts'
import { formatShare } from '../../format/number.ts'
import { type ActivityGroup, type Dimension, type DimensionName, dimensionOf, groupOf } from './dimensions.ts'
import { narrow } from './filters.ts'
import { type Metric, type MetricName, metricOf } from './metrics.ts'
import { groupsQuery, maxGroups } from './queries.ts'
import { RequestsLink } from './requests-link.tsx'
import { isLongRange } from './search.ts'
import type { Row } from './series.ts'
import { filtersOf, type View } from './view.ts'

/** The groups, largest first, with their share. */
export function GroupTable({ view, dimension: name }: { view: View; dimension: DimensionName }) {
  const dimension = dimensionOf(name)
  const grouping = { ranking: view.ranking, dimension: name }
  const query = useQuery(groupsQuery(view, grouping))
  const before = useQuery({
    ...groupsQuery(view.previous ?? view, grouping),
    enabled: view.previous !== null,
  })
  return (
    <QueryView query={query}>
      {({ data: { data: rows, metadata } }) => (
        <>
          <Groups
            rows={rows}
            previous={view.previous ? before.data?.data.data : undefined}
            view={view}
            dimension={dimension}
          />
          {metadata.truncated && (
            <Text size="sm" c="dimmed">
              The {maxGroups} largest are shown. Change the filters or the grouping to see others.
            </Text>
          )}
        </>
      )}
    </QueryView>
  )
}

interface GroupsProps {
  rows: Row[]
  previous: Row[] | undefined
  view: View
  dimension: Dimension
}

function Groups({ rows, previous, view, dimension }: GroupsProps) {
  const metric = metricOf(view.ranking)
  const shownRows = useGrowingRows(rows)
  const total = rows.reduce((sum, row) => sum + (readValue(row, metric) ?? 0), 0)
  const others = listOtherMetrics(view)
  const earlier = new Map(previous?.map((row) => [groupOf(row, dimension).id, row]))
  return (
    <Table.ScrollContainer minWidth={820}>
      <Table highlightOnHover verticalSpacing="xs" aria-busy={shownRows.length < rows.length}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{dimension.label}</Table.Th>
            {metric.isAdditive && <Table.Th w={150}>Share</Table.Th>}
            <Table.Th ta="right">{metric.label}</Table.Th>
            {previous && <Table.Th ta="right">Change</Table.Th>}
            {others.map(({ label }) => (
              <Table.Th key={label} ta="right">
                {label}
              </Table.Th>
            ))}
            <Table.Th>
              <span style={{ position: 'absolute', clipPath: 'inset(50%)' }}>Request log</span>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {shownRows.map((row) => {
            const { id } = groupOf(row, dimension)
            const before = previous && readValue(earlier.get(id), metric)
            return <GroupRow key={id ?? ''} {...{ row, total, before, view, dimension }} />
          })}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

interface GroupRowProps {
  row: Row
  total: number
  /** Undefined if nothing is compared. */
  before: number | null | undefined
  view: View
  dimension: Dimension
}

function GroupRow({ row, total, before, view, dimension }: GroupRowProps) {
  const metric = metricOf(view.ranking)
  const group = groupOf(row, dimension)
  const value = readValue(row, metric)
  return (
    <Table.Tr>
      <Table.Td miw={170} style={{ overflowWrap: 'anywhere' }}>
        <GroupName group={group} dimension={dimension} view={view} />
      </Table.Td>
      {metric.isAdditive && (
        <Table.Td>
          <ShareBar label={group.label} share={total === 0 ? 0 : (value ?? 0) / total} />
        </Table.Td>
      )}
      <Table.Td ta="right">{formatValue(value, metric)}</Table.Td>
      {before !== undefined && (
        <Table.Td ta="right">
          <Change value={value} previous={before} format={metric.format} />
        </Table.Td>
      )}
      {listOtherMetrics(view).map((other) => (
        <Table.Td key={other.label} ta="right">
          {formatValue(readValue(row, other), other)}
        </Table.Td>
      ))}
      <Table.Td ta="right">
        <RequestsLink {...{ view, dimension, group }} label={`Requests of ${group.label}`}>
          Requests
        </RequestsLink>
      </Table.Td>
    </Table.Tr>
  )
}

const columns = [
  'spend',
  'requests',
  'tokens',
  'error_rate',
  'latency_p95',
  'cache_savings',
] as const satisfies MetricName[]

/** The columns beside the one that the groups are ordered by. */
export function listOtherMetrics({ ranking, range }: View): Metric[] {
  return columns
    .filter((name) => name !== ranking)
    .map(metricOf)
    .filter(({ isShort }) => !(isShort && isLongRange(range)))
}

function GroupName({ group, dimension, view }: { group: ActivityGroup; dimension: Dimension; view: View }) {
  const filters = filtersOf(view)
  const narrowed = narrow(filters, dimension, group)
  const isOnly =
    dimension.filter !== undefined && narrowed?.[dimension.filter] === view.search[dimension.filter]
  if (!narrowed || isOnly) return <>{group.label}</>
  return (
    <Anchor
      component="button"
      type="button"
      ta="left"
      size="sm"
      title="Show only this"
      onClick={() => view.change(narrowed)}
    >
      {group.label}
    </Anchor>
  )
}

function ShareBar({ label, share }: { label: string; share: number }) {
  return (
    <Group gap="xs" wrap="nowrap">
      <Progress.Root size="sm" style={{ flex: 1 }}>
        <Progress.Section value={share * 100} aria-label={`Share of ${label}`} />
      </Progress.Root>
      <Text size="xs" w={48} ta="right">
        {formatShare(share)}
      </Text>
    </Group>
  )
}

/** A group that is not there has no requests: zero of what adds up. */
function readValue(row: Row | undefined, { field, isAdditive }: Metric): number | null {
  const value = row?.[field]
  if (typeof value === 'number') return value
  return isAdditive ? 0 : null
}

function formatValue(value: number | null, { format }: Metric): string {
  return value === null ? '–' : format(value)
}
