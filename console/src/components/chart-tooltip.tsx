import { Group, Paper, Text } from '@mantine/core'
import { Swatch } from './chart-legend.tsx'

/** A value that the tooltip names. */
export interface ChartReading {
  label: string
  color: string
  text: string
  isDashed?: boolean | undefined
}

interface ChartTooltipProps {
  title: string
  readings: readonly ChartReading[]
  /** From the left side of the chart, in pixels. */
  left: number
  /** Whether the text is on the left of the point. */
  isBefore: boolean
}

/** The values of a bucket, beside the pointer. A screen reader has them from the chart itself. */
export function ChartTooltip({ title, readings, left, isBefore }: ChartTooltipProps) {
  return (
    <Paper
      aria-hidden="true"
      withBorder
      shadow="md"
      p={8}
      maw={300}
      style={{
        position: 'absolute',
        top: 0,
        left,
        zIndex: 2,
        pointerEvents: 'none',
        transform: isBefore ? 'translateX(calc(-100% - 10px))' : 'translateX(10px)',
      }}
    >
      <Text size="xs" fw={600} mb={2}>
        {title}
      </Text>
      {readings.map(({ label, color, text, isDashed }) => (
        <Group key={label} gap={6} wrap="nowrap">
          <Swatch color={color} isDashed={isDashed} />
          <Text size="xs" truncate style={{ flex: 1 }}>
            {label}
          </Text>
          <Text size="xs" fw={600} style={{ fontVariantNumeric: 'tabular-nums', whiteSpace: 'nowrap' }}>
            {text}
          </Text>
        </Group>
      ))}
    </Paper>
  )
}
