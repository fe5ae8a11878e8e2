import { Group, Text, UnstyledButton } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useSeriesColors } from './chart-colors.ts'
import type { ChartSeries } from './chart-data.ts'

/** A series that is highlighted while the pointer or the focus is on its name, or until it is chosen again. */
export interface Highlight {
  label: string | null
  chosen: string | null
  point: (label: string | null) => void
  toggle: (label: string) => void
}

export function useHighlight(): Highlight {
  const [pointed, point] = useState<string | null>(null)
  const [chosen, choose] = useState<string | null>(null)
  const toggle = (label: string) => choose(chosen === label ? null : label)
  return { label: pointed ?? chosen, chosen, point, toggle }
}

interface ChartLegendProps {
  series: readonly ChartSeries[]
  highlight: Highlight
  /** What stands beside a name, such as a link. */
  renderExtra?: (position: number) => ReactNode
}

/** The names of the series with their colors; each highlights its series. */
export function ChartLegend({ series, highlight, renderExtra }: ChartLegendProps) {
  const colors = useSeriesColors(series)
  const { chosen, point, toggle } = highlight
  return (
    <Group gap="md" role="group" aria-label="Legend" style={{ rowGap: 4 }}>
      {series.map(({ label, isDashed = false }, position) => (
        <Group key={label} gap={6} wrap="nowrap" miw={0}>
          <UnstyledButton
            disabled={isDashed}
            aria-pressed={chosen === label}
            onClick={() => toggle(label)}
            onPointerEnter={() => !isDashed && point(label)}
            onPointerLeave={() => point(null)}
            onFocus={() => point(label)}
            onBlur={() => point(null)}
            style={{
              display: 'flex',
              alignItems: 'center',
              gap: 6,
              minWidth: 0,
              minHeight: 24,
              cursor: isDashed ? 'default' : 'pointer',
            }}
          >
            <Swatch color={colors[position] ?? 'gray'} isDashed={isDashed} />
            <Text size="xs" truncate maw={220} title={label} td={chosen === label ? 'underline' : 'none'}>
              {label}
            </Text>
          </UnstyledButton>
          {renderExtra?.(position)}
        </Group>
      ))}
    </Group>
  )
}

export function Swatch({ color, isDashed = false }: { color: string; isDashed?: boolean | undefined }) {
  return (
    <span
      aria-hidden="true"
      style={{
        width: 14,
        flex: 'none',
        borderTop: `${isDashed ? '2px dashed' : '10px solid'} ${color}`,
        borderRadius: isDashed ? 0 : 2,
      }}
    />
  )
}
