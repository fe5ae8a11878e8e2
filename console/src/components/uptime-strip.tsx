import { formatCount } from '../format/number.ts'
import { formatTime } from '../format/time.ts'
import { SmallChart } from './small-chart.tsx'

interface Hour {
  /** The end of the hour. */
  until: string
  /** Percent; null without attempts. */
  uptime: number | null
  /** Null for those who may not see the traffic of the installation. */
  attempts: number | null
  failures: number | null
}

const barWidth = 4
const height = 20
const hourMs = 3_600_000

/** One bar an hour: green if every attempt worked, red if most failed, gray without traffic. */
export function UptimeStrip({ name, hours }: { name: string; hours: Hour[] }) {
  const width = Math.max(hours.length, 1) * (barWidth + 1)
  if (hours.length === 0) return null
  return (
    <SmallChart label={`${name}: ${describeAll(hours)}`} width={width} height={height}>
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

function describeAll(hours: Hour[]): string {
  const attempts = hours.reduce((sum, hour) => sum + (hour.attempts ?? 0), 0)
  const failures = hours.reduce((sum, hour) => sum + (hour.failures ?? 0), 0)
  if (attempts > 0) return `${formatCount(failures)} of ${formatCount(attempts)} attempts failed in 24 hours`
  const used = hours.filter(({ uptime }) => uptime !== null)
  const bad = used.filter(({ uptime }) => uptime !== 100)
  return used.length === 0 ? 'no traffic in 24 hours' : `attempts failed in ${bad.length} of 24 hours`
}

function describe({ until, uptime, attempts, failures }: Hour): string {
  const from = formatTime(new Date(Date.parse(until) - hourMs).toISOString())
  if (uptime === null) return `${from}: no traffic`
  if (attempts === null) return `${from}: ${uptime}% of attempts succeeded`
  return `${from}: ${failures} of ${attempts} attempts failed`
}

function colorOf({ uptime }: Hour): string {
  if (uptime === null) return 'default-border'
  if (uptime === 100) return 'teal-6'
  return uptime < 50 ? 'red-6' : 'orange-6'
}
