import { Button, Group, Text } from '@mantine/core'
import { BarChart } from '../../components/bar-chart.tsx'
import { Time } from '../../components/time.tsx'
import { formatCount } from '../../format/number.ts'
import { formatTime } from '../../format/time.ts'
import { BrushArea } from './brush-area.tsx'
import type { Bucket } from './histogram.ts'
import { TimeAxis } from './time-axis-view.tsx'

interface HistogramViewProps {
  buckets: Bucket[]
  /** Earlier requests are not counted; null if all are. */
  searchedTo: string | null
  /** Shows only this period. */
  onZoom: (period: { from: string; to: string }) => void
  /** Shows the period before the zoom; null without one. */
  onReset: (() => void) | null
}

/** Requests and errors over time. A part of it can be chosen with the pointer or the keyboard. */
export function HistogramView({ buckets, searchedTo, onZoom, onReset }: HistogramViewProps) {
  const summary = describe(buckets)
  const starts = boundsOf(buckets)
  return (
    <figure style={{ margin: 0 }}>
      <BrushArea
        axis={<TimeAxis start={starts[0] ?? 0} end={starts.at(-1) ?? 0} />}
        starts={starts}
        onZoom={onZoom}
        describe={(from, to) => describe(buckets.slice(from, to + 1))}
      >
        <BarChart
          label={summary}
          height={64}
          bars={buckets.map((bucket) => ({
            key: bucket.start,
            label: `${formatTime(bucket.start)}: ${describe([bucket])}`,
            parts: [
              { value: bucket.requests, color: 'var(--mantine-primary-color-filled)' },
              { value: bucket.errors, color: 'var(--mantine-color-red-filled)' },
            ],
          }))}
        />
      </BrushArea>
      <Group component="figcaption" justify="space-between" gap="xs">
        <Text size="xs" c="dimmed">
          {buckets[0] && `Since ${formatTime(buckets[0].start)}: `}
          {summary}
        </Text>
        <Group gap="sm">
          {searchedTo !== null && (
            <Text size="xs" c="dimmed" component="div">
              Counted back to <Time iso={searchedTo} />
            </Text>
          )}
          {onReset && (
            <Button size="compact-xs" variant="default" onClick={onReset}>
              Reset zoom
            </Button>
          )}
        </Group>
      </Group>
    </figure>
  )
}

/** The beginnings of the buckets, which are equally long, and the end of the last. */
function boundsOf(buckets: readonly Bucket[]): number[] {
  const starts = buckets.map(({ start }) => Date.parse(start))
  const last = starts.at(-1)
  if (last === undefined) return []
  return [...starts, last + (last - (starts.at(-2) ?? last))]
}

function describe(buckets: readonly Bucket[]): string {
  const total = buckets.reduce((sum, { requests }) => sum + requests, 0)
  const errors = buckets.reduce((sum, bucket) => sum + bucket.errors, 0)
  return `${formatCount(total)} requests, ${formatCount(errors)} with an error`
}
