import { Box, Group, Paper, SimpleGrid, Skeleton, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Change } from '../../components/change.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Sparkline } from '../../components/sparkline.tsx'
import { formatMoney } from '../../format/money.ts'
import { formatCompact, formatCount, formatDuration, formatShare } from '../../format/number.ts'
import { courseQuery, figuresQuery, type Row, type Selection } from './queries.ts'
import { type RequestFilters, RequestsNumber } from './requests-number.tsx'
import { type PeriodName, periods, rangeOf } from './search.ts'

interface FigureDefinition {
  label: string
  field: string
  format: (value: number) => string
  /** Without requests there is no value, rather than zero. */
  isRate?: true
  /** The requests behind it, if not all. */
  filters?: RequestFilters
  /** A further number beside the value. */
  detail?: (row: Row) => string
}

function formatErrors(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'error' : 'errors'}`
}

const completed = { status: 'completed' }

const figures: FigureDefinition[] = [
  { label: 'Spend', field: 'total_usage', format: formatMoney },
  { label: 'Requests', field: 'request_count', format: formatCount },
  {
    ...{ label: 'Error rate', field: 'error_rate', format: formatShare, isRate: true },
    filters: { status: 'failed,cancelled' },
    detail: ({ error_count }) => formatErrors(Number(error_count ?? 0)),
  },
  { label: 'Latency p50', field: 'p50_latency', format: formatDuration, isRate: true, filters: completed },
  { label: 'Latency p95', field: 'p95_latency', format: formatDuration, isRate: true, filters: completed },
  { label: 'Tokens', field: 'tokens_total', format: formatCompact },
]

interface FiguresProps {
  period: PeriodName
  now: number
  workspaceId: string | null
}

/** Each figure of the period with its change and its course, and below that of the other period. */
export function Figures({ period, now, workspaceId }: FiguresProps) {
  const other = period === 'day' ? 'week' : 'day'
  const chosen = usePeriod(period, now, workspaceId)
  const second = usePeriod(other, now, workspaceId)
  const course = useQuery(courseQuery(chosen.selection, period === 'day' ? 'hour' : 'day'))
  const error = chosen.error ?? second.error ?? course.error
  return (
    <section aria-label={`The last ${periods[period].label}`}>
      {error !== null && <ErrorNotice error={error} onRetry={chosen.retry} />}
      <SimpleGrid cols={{ base: 2, md: 3 }} spacing="sm">
        {figures.map((figure) => (
          <Card
            key={figure.field}
            figure={figure}
            chosen={chosen}
            second={second}
            course={course.data?.data.data}
          />
        ))}
      </SimpleGrid>
    </section>
  )
}

/** The figures of a period and of the one before; undefined until they are known. */
interface PeriodFigures {
  name: PeriodName
  selection: Selection
  now: Row | undefined
  before: Row | undefined
}

function usePeriod(name: PeriodName, now: number, workspaceId: string | null) {
  const selection = { range: rangeOf(name, now), workspaceId }
  const current = useQuery(figuresQuery(selection))
  const before = useQuery(figuresQuery({ range: rangeOf(name, now, true), workspaceId }))
  const rowOf = ({ data, isError }: typeof current) =>
    data ? (data.data.data[0] ?? {}) : isError ? {} : undefined
  return {
    name,
    selection,
    now: rowOf(current),
    before: rowOf(before),
    error: current.error ?? before.error,
    retry: () => void Promise.all([current.refetch(), before.refetch()]),
  }
}

interface CardProps {
  figure: FigureDefinition
  chosen: PeriodFigures
  second: PeriodFigures
  course: Row[] | undefined
}

function Card({ figure, chosen, second, course }: CardProps) {
  const { label, detail } = figure
  return (
    <Paper withBorder p="sm" miw={0} role="group" aria-label={label}>
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <div style={{ minWidth: 0 }}>
          <Text size="xs" c="dimmed">
            {label}
          </Text>
          {chosen.now === undefined ? (
            <Skeleton height={26} width={90} my={3} />
          ) : (
            <Text fw={600} size="xl" style={{ fontVariantNumeric: 'tabular-nums' }}>
              <Value figure={figure} of={chosen} />
            </Text>
          )}
        </div>
        <Box visibleFrom="sm">
          {course && (
            <Sparkline
              label={`${label} over time`}
              values={course.map((row) => readValue(row, figure)).reverse()}
            />
          )}
        </Box>
      </Group>
      <Group gap={6} mih={20}>
        {chosen.now && detail && (
          <Text size="xs" c="dimmed">
            {detail(chosen.now)}
          </Text>
        )}
        <ChangeOf figure={figure} of={chosen} />
      </Group>
      <Group gap={6} mih={20}>
        {second.now === undefined ? (
          <Skeleton height={12} width="80%" />
        ) : (
          <Text size="xs" c="dimmed" component="div">
            {periods[second.name].label}: <Value figure={figure} of={second} />
          </Text>
        )}
        <ChangeOf figure={figure} of={second} />
      </Group>
    </Paper>
  )
}

function ChangeOf({ figure, of: { now, before } }: { figure: FigureDefinition; of: PeriodFigures }) {
  if (!now || !before) return null
  const [value, previous] = [readValue(now, figure), readValue(before, figure)]
  return <Change value={value} previous={previous} format={figure.format} />
}

function Value({
  figure,
  of: { name, selection, now = {} },
}: {
  figure: FigureDefinition
  of: PeriodFigures
}) {
  const value = readValue(now, figure)
  if (value === null) return <>–</>
  const { label, format, filters } = figure
  const text = format(value)
  return (
    <RequestsNumber
      selection={selection}
      {...(filters && { filters })}
      label={`${label} of the last ${periods[name].label}: ${text}. Show the requests`}
    >
      {text}
    </RequestsNumber>
  )
}

function readValue(row: Row, { field, isRate }: FigureDefinition): number | null {
  const value = row[field]
  if (typeof value === 'number') return value
  return isRate ? null : 0
}
