import { Group, Text } from '@mantine/core'
import { BarChart } from '../../components/bar-chart.tsx'
import { Time } from '../../components/time.tsx'
import { formatCount } from '../../format/number.ts'
import { formatTime } from '../../format/time.ts'
import type { Bucket } from './histogram.ts'

interface HistogramViewProps {
  buckets: Bucket[]
  /** Earlier requests are not counted; null if all are. */
  searchedTo: string | null
}

/** Requests and errors over time. */
export function HistogramView({ buckets, searchedTo }: HistogramViewProps) {
  const total = buckets.reduce((sum, { requests }) => sum + requests, 0)
  const errors = buckets.reduce((sum, bucket) => sum + bucket.errors, 0)
  const summary = describe(total, errors)
  return (
    <figure style={{ margin: 0 }}>
      <BarChart
        label={summary}
        height={64}
        bars={buckets.map(({ start, requests, errors }) => ({
          key: String(start),
          label: `${formatTime(start)}: ${describe(requests, errors)}`,
          parts: [
            { value: requests, color: 'var(--mantine-primary-color-filled)' },
            { value: errors, color: 'var(--mantine-color-red-filled)' },
          ],
        }))}
      />
      <Group component="figcaption" justify="space-between" gap="xs">
        <Text size="xs" c="dimmed">
          {buckets[0] && `Since ${formatTime(buckets[0].start)}: `}
          {summary}
        </Text>
        {searchedTo !== null && (
          <Text size="xs" c="dimmed" component="div">
            Counted back to <Time iso={searchedTo} />: the newest 50,000 requests
          </Text>
        )}
      </Group>
    </figure>
  )
}

function describe(requests: number, errors: number): string {
  return `${formatCount(requests)} requests, ${formatCount(errors)} with an error`
}
