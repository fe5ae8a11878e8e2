import { Group, Text } from '@mantine/core'
import { Time } from '../../components/time.tsx'
import { formatCount } from '../../format/number.ts'
import { formatTime } from '../../format/time.ts'
import type { Bucket } from './histogram.ts'

const height = 64

interface HistogramViewProps {
  buckets: Bucket[]
  /** Earlier requests are not counted; null if all are. */
  searchedTo: string | null
}

/** Requests and errors over time. */
export function HistogramView({ buckets, searchedTo }: HistogramViewProps) {
  const top = Math.max(...buckets.map(({ requests }) => requests), 1)
  const width = 600 / Math.max(buckets.length, 1)
  const total = buckets.reduce((sum, { requests }) => sum + requests, 0)
  const errors = buckets.reduce((sum, bucket) => sum + bucket.errors, 0)
  const summary = `${formatCount(total)} requests, ${formatCount(errors)} with an error`
  return (
    <figure style={{ margin: 0 }}>
      <svg
        viewBox={`0 0 600 ${height}`}
        width="100%"
        height={height}
        preserveAspectRatio="none"
        role="img"
        aria-label={summary}
      >
        {buckets.map(({ start, requests, errors }, index) => {
          const size = (requests / top) * height
          const errorSize = (errors / top) * height
          const box = { x: index * width, width: Math.max(width - 1, 1) }
          return (
            <g key={start}>
              <title>{`${formatTime(start)}: ${formatCount(requests)} requests, ${formatCount(errors)} with an error`}</title>
              <rect {...box} y={0} height={height} fill="transparent" />
              <rect {...box} y={height - size} height={size} fill="var(--mantine-primary-color-filled)" />
              <rect
                {...box}
                y={height - errorSize}
                height={errorSize}
                fill="var(--mantine-color-red-filled)"
              />
            </g>
          )
        })}
      </svg>
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
