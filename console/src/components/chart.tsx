import {
  Button,
  Group,
  type MantineTheme,
  Skeleton,
  Stack,
  Text,
  useComputedColorScheme,
  useMantineTheme,
} from '@mantine/core'
import { type KeyboardEvent, lazy, Suspense, useMemo, useState } from 'react'
import type { ChartData, ChartSeries } from './chart-data.ts'
import { ChartTable } from './chart-table.tsx'
import { formatBucket } from './chart-time.ts'

const loadCanvas = () => import('./chart-canvas.tsx')
const ChartCanvas = lazy(() => loadCanvas().then((module) => ({ default: module.ChartCanvas })))

/** Loads what draws charts while their data is on its way. If that fails, the chart says so. */
export function preloadChart(): void {
  loadCanvas().catch(() => undefined)
}

/** Values over time. They can be read with a pointer, with the arrow keys, and as a table. */
export function Chart({ label, height = 260, ...data }: ChartData & { label: string; height?: number }) {
  const [index, setIndex] = useState<number | null>(null)
  const [isTable, setTable] = useState(false)
  const theme = useMantineTheme()
  const isDark = useComputedColorScheme('light') === 'dark'
  const { times, bucketMs, series, format } = data
  const colors = useMemo(() => colorsOf(series, theme, isDark), [series, theme, isDark])
  const last = times.length - 1
  const shown = index === null || index > last ? null : index
  const move = (event: KeyboardEvent) => {
    const target = targetOf(event.key, shown, last)
    if (target === undefined) return
    event.preventDefault()
    setIndex(target)
  }
  const time = shown === null ? '' : formatBucket(times[shown] ?? 0, bucketMs)
  const readValue = ({ values }: ChartSeries) => {
    const value = shown === null ? undefined : values[shown]
    return value === undefined || value === null ? '–' : format(value)
  }
  return (
    <Stack gap="xs">
      <div
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={Math.max(last, 0)}
        aria-valuenow={shown ?? 0}
        aria-valuetext={
          shown === null
            ? 'Arrow keys read the values.'
            : `${time}: ${series.map((one) => `${one.label} ${readValue(one)}`).join(', ')}`
        }
        onKeyDown={move}
        onBlur={() => setIndex(null)}
      >
        <Suspense fallback={<Skeleton height={height} />}>
          <ChartCanvas {...data} colors={colors} height={height} index={shown} onIndex={setIndex} />
        </Suspense>
      </div>
      <Group justify="space-between" align="flex-start" wrap="nowrap">
        <Group gap="md" style={{ flex: 1, minWidth: 0, rowGap: 4 }}>
          {series.map((one, position) => (
            <LegendItem key={one.label} series={one} color={colors[position] ?? 'gray'}>
              {shown === null ? null : readValue(one)}
            </LegendItem>
          ))}
          <Text size="xs" c="dimmed">
            {time}
          </Text>
        </Group>
        <Button size="compact-xs" variant="subtle" aria-expanded={isTable} onClick={() => setTable(!isTable)}>
          {isTable ? 'Hide the table' : 'Show as table'}
        </Button>
      </Group>
      {isTable && <ChartTable label={label} {...data} />}
    </Stack>
  )
}

function LegendItem({
  series: { label, isDashed },
  color,
  children,
}: {
  series: ChartSeries
  color: string
  children: string | null
}) {
  return (
    <Group gap={6} wrap="nowrap" miw={0}>
      <span
        aria-hidden="true"
        style={{
          width: 14,
          flex: 'none',
          borderTop: `${isDashed ? '2px dashed' : '10px solid'} ${color}`,
          borderRadius: isDashed ? 0 : 2,
        }}
      />
      <Text size="xs" truncate maw={220} title={label}>
        {label}
      </Text>
      {children !== null && (
        <Text size="xs" fw={600} style={{ fontVariantNumeric: 'tabular-nums', whiteSpace: 'nowrap' }}>
          {children}
        </Text>
      )}
    </Group>
  )
}

function targetOf(key: string, index: number | null, last: number): number | null | undefined {
  if (key === 'Escape') return null
  if (key === 'Home') return 0
  if (key === 'End') return last
  if (key === 'ArrowRight') return Math.min((index ?? -1) + 1, last)
  if (key === 'ArrowLeft') return Math.max((index ?? last + 1) - 1, 0)
  return undefined
}

const palette = ['indigo', 'teal', 'orange', 'grape', 'cyan', 'pink', 'lime', 'yellow'] as const

function colorsOf(series: readonly ChartSeries[], { colors }: MantineTheme, isDark: boolean): string[] {
  const shade = isDark ? 5 : 6
  return series.map(({ isDashed, isRest }, position) => {
    if (isDashed) return isDark ? colors.gray[4] : colors.gray[7]
    if (isRest) return colors.gray[shade]
    return colors[palette[position % palette.length] ?? 'indigo'][shade]
  })
}
