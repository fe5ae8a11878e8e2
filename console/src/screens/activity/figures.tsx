import { Paper, SimpleGrid, Skeleton, Text, Tooltip } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Change } from '../../components/change.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { type MetricName, metricNames, metricOf } from './metrics.ts'
import { failuresQuery, figuresQuery, type Selection } from './queries.ts'
import { isLongRange } from './search.ts'
import type { View } from './view.ts'

/** One figure for each metric over the whole period. They choose what the chart and the table show. */
export function Figures({ view }: { view: View }) {
  const { now, previous, error } = useFigures(view)
  return (
    <>
      {error !== null && <ErrorNotice error={error} onRetry={view.refresh} />}
      <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
        {metricNames.map((name) => (
          <Figure key={name} name={name} view={view} value={now(name)} previous={previous(name)} />
        ))}
      </SimpleGrid>
    </>
  )
}

interface FigureProps {
  name: MetricName
  view: View
  /** Undefined until it is known. */
  value: number | null | undefined
  previous: number | null | undefined
}

function Figure({ name, view, value, previous }: FigureProps) {
  const { label, meaning, format, isShort } = metricOf(name)
  const isChosen = view.metricName === name
  const isMissing = isShort && isLongRange(view.range)
  return (
    <Tooltip
      label={isMissing ? 'For periods of at most 31 days.' : meaning}
      multiline
      maw={280}
      openDelay={400}
    >
      <Paper
        component="button"
        type="button"
        withBorder
        p="sm"
        ta="left"
        aria-pressed={isChosen}
        disabled={isMissing}
        onClick={() => view.change({ metric: name })}
        style={{
          display: 'flex',
          flexDirection: 'column',
          alignItems: 'flex-start',
          cursor: isMissing ? 'not-allowed' : 'pointer',
          color: 'inherit',
          ...(isChosen && { borderColor: 'var(--mantine-primary-color-filled)' }),
        }}
      >
        <Text size="xs" c="dimmed">
          {label}
        </Text>
        {value === undefined && !isMissing ? (
          <Skeleton height={24} width={80} mt={4} />
        ) : (
          <Text fw={600} size="lg" style={{ fontVariantNumeric: 'tabular-nums' }}>
            {typeof value === 'number' ? format(value) : '–'}
          </Text>
        )}
        {view.previous && <Change value={value} previous={previous} format={format} />}
      </Paper>
    </Tooltip>
  )
}

function useFigures(view: View) {
  const current = useFiguresOf(view)
  const before = useFiguresOf(view.previous ?? view)
  return { now: current.read, previous: before.read, error: current.error ?? before.error }
}

function useFiguresOf(selection: Selection) {
  const figures = useQuery(figuresQuery(selection))
  const failures = useQuery({ ...failuresQuery(selection), enabled: !isLongRange(selection.range) })
  const read = (name: MetricName): number | null | undefined => {
    const { field, isAdditive, isOnlyFailures } = metricOf(name)
    const { data, error } = isOnlyFailures ? failures : figures
    if (!data) return error === null ? undefined : null
    const rows = data.data.data
    const value = rows[0]?.[field]
    if (typeof value === 'number') return value
    return isAdditive ? 0 : null
  }
  return { read, error: figures.error ?? failures.error }
}
