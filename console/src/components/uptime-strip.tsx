import { formatCount } from '../format/number.ts'
import { formatTime } from '../format/time.ts'
import { SmallChart } from './small-chart.tsx'

interface Hour {
  /** The end of the hour. */
  until: string
  attempts: number
  failures: number
}

const barWidth = 4
const height = 20
const hourMs = 3_600_000

/** One bar an hour: green if every attempt worked, red if most failed, grey without traffic. */
export function UptimeStrip({ name, hours }: { name: string; hours: Hour[] }) {
  const attempts = hours.reduce((sum, hour) => sum + hour.attempts, 0)
  const failures = hours.reduce((sum, hour) => sum + hour.failures, 0)
  const label = `${name}: ${formatCount(failures)} of ${formatCount(attempts)} attempts failed in 24 hours`
  const width = Math.max(hours.length, 1) * (barWidth + 1)
  if (hours.length === 0) return null
  return (
    <SmallChart label={label} width={width} height={height}>
      {hours.map((hour, index) => (
        <g key={hour.until}>
          <title>{describe(hour)}</title>
          <rect
            x={index * (barWidth + 1)}
            width={barWidth}
            height={height}
            rx={1}
            fill={`var(--mantine-color-${colorOf(hour)})`}
          />
        </g>
      ))}
    </SmallChart>
  )
}

function describe({ until, attempts, failures }: Hour): string {
  const from = formatTime(new Date(Date.parse(until) - hourMs).toISOString())
  return attempts === 0 ? `${from}: no traffic` : `${from}: ${failures} of ${attempts} attempts failed`
}

function colorOf({ attempts, failures }: Hour): string {
  if (attempts === 0) return 'default-border'
  if (failures === 0) return 'teal-6'
  return failures * 2 > attempts ? 'red-6' : 'orange-6'
}
