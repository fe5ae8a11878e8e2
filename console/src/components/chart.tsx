import { Button, Group, Skeleton, Stack } from '@mantine/core'
import { type KeyboardEvent, lazy, Suspense, useState } from 'react'
import type { PlotBox, PointedBucket } from './chart-canvas.tsx'
import { useSeriesColors } from './chart-colors.ts'
import type { ChartData } from './chart-data.ts'
import { ChartLegend, type Highlight, useHighlight } from './chart-legend.tsx'
import { type ChartMark, ChartMarks } from './chart-marks.tsx'
import { ChartTable } from './chart-table.tsx'
import { formatBucket } from './chart-time.ts'
import { type ChartReading, ChartTooltip } from './chart-tooltip.tsx'

const loadCanvas = () => import('./chart-canvas.tsx')
const ChartCanvas = lazy(() => loadCanvas().then((module) => ({ default: module.ChartCanvas })))

/** Loads what draws charts while their data is on its way. If that fails, the chart says so. */
export function preloadChart(): void {
  loadCanvas().catch(() => undefined)
}

interface ChartProps {
  data: ChartData
  label: string
  height?: number
  /** The highlight of several charts with a legend of their own; without it, the chart has one. */
  highlight?: Highlight
  /** What happened meanwhile; it stands in a list as well. */
  marks?: readonly ChartMark[]
  /** A range of buckets was chosen. */
  onZoom?: (first: number, last: number) => void
  /** A bucket was chosen, of one series or of all. */
  onOpen?: (index: number, position: number | null) => void
}

/** Values over time. They can be read with a pointer, with the arrow keys, and as a table. */
export function Chart({ data, label, height = 260, highlight, marks = [], onZoom, onOpen }: ChartProps) {
  const [point, setPoint] = useState<PointedBucket | null>(null)
  const [box, setBox] = useState<PlotBox | null>(null)
  const [isTable, setTable] = useState(false)
  const own = useHighlight()
  const { times, bucketMs, series } = data
  const { label: highlightedLabel } = highlight ?? own
  const found = series.findIndex((one) => one.label === highlightedLabel)
  const highlighted = found === -1 ? null : found
  const colors = useSeriesColors(series, highlighted)
  const last = times.length - 1
  const shown = point === null || point.index > last ? null : point
  const index = shown?.index ?? null
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && index !== null) onOpen?.(index, highlighted)
    const target = targetOf(event.key, index, last)
    if (target === undefined) return
    event.preventDefault()
    setPoint(target === null ? null : { index: target, left: 0, isBefore: false })
  }
  const title = index === null ? '' : formatBucket(times[index] ?? 0, bucketMs)
  const readings = index === null ? [] : readBucket(data, index, colors)
  return (
    <Stack gap="xs">
      <div style={{ position: 'relative', minWidth: 0 }}>
        <div
          role="slider"
          tabIndex={0}
          aria-label={label}
          aria-valuemin={0}
          aria-valuemax={Math.max(last, 0)}
          aria-valuenow={index ?? 0}
          aria-valuetext={
            index === null
              ? `Arrow keys read the values.${onOpen ? ' Enter shows the requests.' : ''}`
              : `${title}: ${readings.map((one) => `${one.label} ${one.text}`).join(', ')}`
          }
          onKeyDown={press}
          onBlur={() => setPoint(null)}
        >
          <Suspense fallback={<Skeleton height={height} />}>
            <ChartCanvas
              {...{ data, colors, height, highlighted, index, onPoint: setPoint, onZoom, onOpen }}
              onLayout={(next) => setBox((last) => (isSameBox(last, next) ? last : next))}
            />
          </Suspense>
        </div>
        {box && <ChartMarks {...{ marks, data, box }} />}
        {shown && <ChartTooltip {...shown} title={title} readings={sortReadings(readings)} />}
      </div>
      <Group justify="space-between" align="flex-start" wrap="nowrap">
        {!highlight && series.length > 1 ? <ChartLegend series={series} highlight={own} /> : <span />}
        <TableButton label={label} isTable={isTable} onToggle={() => setTable(!isTable)} />
      </Group>
      {isTable && <ChartTable label={label} {...data} />}
    </Stack>
  )
}

function TableButton({
  label,
  isTable,
  onToggle,
}: {
  label: string
  isTable: boolean
  onToggle: () => void
}) {
  const text = isTable ? 'Hide the table' : 'Show as table'
  return (
    <Button
      size="compact-xs"
      variant="subtle"
      aria-expanded={isTable}
      aria-label={`${text}: ${label}`}
      onClick={onToggle}
    >
      {text}
    </Button>
  )
}

function isSameBox(one: PlotBox | null, other: PlotBox): boolean {
  return one?.left === other.left && one.width === other.width && one.height === other.height
}

interface ReadValue extends ChartReading {
  value: number | null
}

function readBucket({ series, format }: ChartData, index: number, colors: readonly string[]): ReadValue[] {
  return series.map(({ label, values, isDashed }, position) => {
    const value = values[index] ?? null
    const color = colors[position] ?? 'gray'
    return { label, color, isDashed, value, text: value === null ? '–' : format(value) }
  })
}

/** Largest first, as one looks for the cause of a spike; of many, only those that are there. */
function sortReadings(readings: readonly ReadValue[]): ReadValue[] {
  const shown = readings.length < 3 ? [...readings] : readings.filter(({ value }) => value)
  return shown.sort(
    (a, b) => Number(a.isDashed ?? false) - Number(b.isDashed ?? false) || (b.value ?? 0) - (a.value ?? 0),
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
