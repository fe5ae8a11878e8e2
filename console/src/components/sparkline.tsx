import { SmallChart } from './small-chart.tsx'
import { linesOf } from './sparkline-lines.ts'

interface SparklineProps {
  /** The accessible name, with the newest value. */
  label: string
  /** Oldest first; null where there is none. */
  values: (number | null)[]
}

const width = 96
const height = 24

/** The course of a value, without axes. Nothing without values. */
export function Sparkline({ label, values }: SparklineProps) {
  const lines = linesOf(values, { width, height })
  if (lines.length === 0) return null
  return (
    <SmallChart label={label} width={width} height={height}>
      <title>{label}</title>
      {lines.map((points) => (
        <polyline
          key={points}
          points={points}
          fill="none"
          stroke="var(--mantine-primary-color-filled)"
          strokeWidth={2}
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      ))}
    </SmallChart>
  )
}
