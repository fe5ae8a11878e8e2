interface Bar {
  key: string
  /** The text on hover. */
  label: string
  /** Each from the bottom up, the later in front. */
  parts: { value: number; color: string }[]
}

interface BarChartProps {
  /** The accessible name of the chart. */
  label: string
  height: number
  bars: Bar[]
}

const width = 600
/** A value that is not zero stays visible. */
const minSize = 2

/** Bars over time, oldest first, as wide as there is room. */
export function BarChart({ label, height, bars }: BarChartProps) {
  const top = Math.max(...bars.flatMap(({ parts }) => parts.map(({ value }) => value)), 0)
  const step = width / Math.max(bars.length, 1)
  const gap = Math.min(2, step / 4)
  const sizeOf = (value: number) => (value === 0 ? 0 : Math.max((value / top) * height, minSize))
  return (
    <svg
      viewBox={`0 0 ${width} ${height}`}
      width="100%"
      height={height}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {bars.map((bar, index) => {
        const box = { x: index * step, width: step - gap }
        return (
          <g key={bar.key}>
            <title>{bar.label}</title>
            <rect {...box} y={0} height={height} fill="transparent" />
            <rect {...box} y={height - 1} height={1} fill="var(--mantine-color-default-border)" />
            {bar.parts.map(({ value, color }) => (
              <rect key={color} {...box} y={height - sizeOf(value)} height={sizeOf(value)} fill={color} />
            ))}
          </g>
        )
      })}
    </svg>
  )
}
