import { useComputedColorScheme, useMantineTheme } from '@mantine/core'
import { useEffect, useMemo, useRef } from 'react'
import uPlot from 'uplot'
import { fontFamily } from '../theme/tokens.ts'
import type { ChartData } from './chart-data.ts'
import { formatBucket, isWholeDays } from './chart-time.ts'

interface ChartCanvasProps extends ChartData {
  colors: string[]
  height: number
  /** The point that is marked. */
  index: number | null
  onIndex: (index: number | null) => void
}

/** Draws with uPlot; in a file of its own because the library is loaded only where there is a chart. */
export function ChartCanvas(props: ChartCanvasProps) {
  const { times, bucketMs, series, kind, format, colors, height, index } = props
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  const ink = useInk()
  const onIndex = useRef(props.onIndex)
  onIndex.current = props.onIndex

  useEffect(() => {
    const element = host.current
    if (!element) return
    const data = { times, bucketMs, series, kind, format }
    const drawn = stack(data)
    const created = new uPlot(
      {
        ...optionsOf(data, ink),
        width: element.clientWidth,
        height,
        series: [{}, ...drawn.map(({ position }) => styleOf(data, position, colors))],
        hooks: { setCursor: [({ cursor }) => onIndex.current(cursor.idx ?? null)] },
      },
      [times.map((ms) => ms / 1000), ...drawn.map(({ values }) => values)],
      element,
    )
    plot.current = created
    const observer = new ResizeObserver(() => created.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      created.destroy()
      plot.current = null
    }
  }, [times, bucketMs, series, kind, format, colors, height, ink])

  useEffect(() => {
    const time = index === null ? undefined : times[index]
    if (!plot.current || plot.current.cursor.idx === index) return
    const left = time === undefined ? -10 : plot.current.valToPos(time / 1000, 'x')
    plot.current.setCursor({ left, top: 0 })
  }, [index, times])

  return <div ref={host} style={{ minWidth: 0, height }} />
}

const bars = uPlot.paths.bars?.({ size: [0.8, 48] })

function styleOf({ series, kind }: ChartData, position: number, colors: string[]): uPlot.Series {
  const color = colors[position] ?? 'gray'
  if (series[position]?.isDashed) return { stroke: color, width: 1.5, dash: [5, 4], points: { show: false } }
  if (kind === 'lines' || !bars) {
    // A value between two gaps has no line.
    const show = series[position]?.values.includes(null) ?? false
    return { stroke: color, width: 2, points: { size: 6, fill: color, show } }
  }
  return { stroke: color, fill: color, width: 0, paths: bars, points: { show: false } }
}

interface DrawnSeries {
  position: number
  values: (number | null)[]
}

/** Bars stand on those of the series before; the highest is drawn first, and lines over all of them. */
function stack({ series, kind, times }: ChartData): DrawnSeries[] {
  const heights = times.map(() => 0)
  const drawn = series.map(({ values, isDashed }, position): DrawnSeries => {
    if (kind === 'lines' || isDashed) return { position, values: [...values] }
    for (const at of times.keys()) heights[at] = (heights[at] ?? 0) + (values[at] ?? 0)
    return { position, values: [...heights] }
  })
  const isLine = ({ position }: DrawnSeries) => kind === 'lines' || series[position]?.isDashed === true
  return [...drawn.filter((one) => !isLine(one)).reverse(), ...drawn.filter(isLine)]
}

/** Colors of axes: a canvas does not know the variables of the page. */
function useInk(): Ink {
  const { colors } = useMantineTheme()
  const isDark = useComputedColorScheme('light') === 'dark'
  return useMemo(() => {
    const rule = { stroke: isDark ? colors.dark[5] : colors.gray[2], width: 1 }
    const stroke = isDark ? colors.dark[1] : colors.gray[7]
    return { stroke, grid: rule, ticks: rule, font: `12px ${fontFamily}` }
  }, [colors, isDark])
}

type Ink = Pick<uPlot.Axis, 'stroke' | 'grid' | 'ticks' | 'font'>

/** 1, 2, 5, 10, 20, ...: there is no half of a request. */
const wholeSteps = Array.from({ length: 13 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
).flat()

function isWhole(value: number | null): boolean {
  return value === null || Number.isInteger(value)
}

function optionsOf(
  { bucketMs, series, kind, format }: ChartData,
  ink: Ink,
): Omit<uPlot.Options, 'width' | 'height' | 'series'> {
  const half = bucketMs / 2000
  return {
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: kind === 'lines' } },
    scales: {
      x: { range: (_, min, max) => [min - half, max + half] },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] },
    },
    ...(isWholeDays(bucketMs) && {
      tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    }),
    axes: [
      {
        ...ink,
        space: 90,
        values: (_, splits, __, ___, step) =>
          splits.map((seconds) => formatBucket(seconds * 1000, bucketMs, step * 1000)),
      },
      {
        ...ink,
        size: 70,
        values: (_, splits) => splits.map(format),
        ...(series.every(({ values }) => values.every(isWhole)) && { incrs: wholeSteps }),
      },
    ],
  }
}
