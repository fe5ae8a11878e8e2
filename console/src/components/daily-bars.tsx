import { Text } from '@mantine/core'

export interface DailyValue {
  /** `2026-11-16` */
  day: string
  value: number
  /** What the bar says on hover. */
  label: string
}

const height = 80
const gap = 2

/** A small bar chart with one bar a day, oldest first. */
export function DailyBars({ title, days }: { title: string; days: DailyValue[] }) {
  const top = Math.max(...days.map(({ value }) => value), 0)
  const width = 600 / Math.max(days.length, 1)
  return (
    <figure style={{ margin: 0 }}>
      <svg
        viewBox={`0 0 600 ${height}`}
        width="100%"
        height={height}
        preserveAspectRatio="none"
        role="img"
        aria-label={title}
      >
        {days.map(({ day, value, label }, index) => {
          const size = top === 0 ? 0 : Math.max((value / top) * (height - 4), value > 0 ? 2 : 0)
          return (
            <g key={day}>
              <title>{label}</title>
              <rect x={index * width} y={0} width={width - gap} height={height} fill="transparent" />
              <rect
                x={index * width}
                y={height - Math.max(size, 1)}
                width={width - gap}
                height={Math.max(size, 1)}
                fill={
                  size > 0 ? 'var(--mantine-primary-color-filled)' : 'var(--mantine-color-default-border)'
                }
              />
            </g>
          )
        })}
      </svg>
      <Text
        component="figcaption"
        size="xs"
        c="dimmed"
        style={{ display: 'flex', justifyContent: 'space-between' }}
      >
        <span>{days[0]?.day}</span>
        <span>{days.at(-1)?.day}</span>
      </Text>
    </figure>
  )
}
