import { useComputedColorScheme, useMantineTheme } from '@mantine/core'
import { type RefObject, useEffect, useMemo, useRef } from 'react'
import uPlot from 'uplot'
import { fontFamily } from '../theme/tokens.ts'
import type { ChartData } from './chart-data.ts'
import { findSeriesAt, stackSeries } from './chart-stack.ts'
import { formatBucket, isWholeDays } from './chart-time.ts'

/** The bucket under the pointer, and its place in the chart. */
export interface PointedBucket {
  index: number
  /** From the left side of the chart, in pixels. */
  left: number
  /** Whether there is more room on its left. */
  isBefore: boolean
}

/** Where a chart draws its values, within its element. */
export interface PlotBox {
  left: number
  top: number
  width: number
  height: number
}

interface ChartCanvasProps {
  data: ChartData
  colors: string[]
  height: number
  /** The place of the series that is highlighted. */
  highlighted: number | null
  /** The bucket that is marked. */
  index: number | null
  onPoint: (point: PointedBucket | null) => void
  onZoom: ((first: number, last: number) => void) | undefined
  onOpen: ((index: number, position: number | null) => void) | undefined
  onLayout: (box: PlotBox) => void
}

/** Pixels between a line and a click that means it; and how far the pointer moves before it selects a range. */
const nearPx = 24
const dragPx = 5

/** Draws with uPlot; in a file of its own because the library is loaded only where there is a chart. */
export function ChartCanvas(props: ChartCanvasProps) {
  const { data, colors, height, highlighted, index } = props
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  const ink = useInk()
  const handlers = useRef(props)
  handlers.current = props
  const [canZoom, canOpen] = [props.onZoom !== undefined, props.onOpen !== undefined]

  useEffect(() => {
    const element = host.current
    if (!element) return
    const created = createPlot(element, handlers, {
      data,
      colors,
      height,
      highlighted,
      ink,
      canZoom,
      canOpen,
    })
    plot.current = created
    const observer = new ResizeObserver(() => created.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      created.destroy()
      plot.current = null
    }
  }, [data, colors, height, highlighted, ink, canZoom, canOpen])

  useEffect(() => {
    const time = index === null ? undefined : data.times[index]
    if (!plot.current || plot.current.cursor.idx === index) return
    const left = time === undefined ? -10 : plot.current.valToPos(time / 1000, 'x')
    plot.current.setCursor({ left, top: 0 })
  }, [index, data])

  return <div ref={host} style={{ minWidth: 0, height }} />
}

interface PlotOptions extends Pick<ChartCanvasProps, 'data' | 'colors' | 'height' | 'highlighted'> {
  ink: Ink
  canZoom: boolean
  canOpen: boolean
}

function createPlot(
  element: HTMLElement,
  /** The handlers of the last rendering. */
  handlers: RefObject<ChartCanvasProps>,
  { data, colors, height, highlighted, ink, canZoom, canOpen }: PlotOptions,
): uPlot {
  const drawn = stackSeries(data, highlighted)
  const plot = new uPlot(
    {
      ...optionsOf(data, ink, canZoom),
      width: element.clientWidth,
      height,
      series: [{}, ...drawn.map(({ position }) => styleOf(data, position, colors))],
      hooks: {
        setCursor: [(own) => handlers.current.onPoint(readPoint(own, data.times))],
        drawAxes: [(own) => handlers.current.onLayout(readBox(own))],
        setSelect: [(own) => zoom(own, handlers.current.onZoom)],
      },
    },
    [data.times.map((ms) => ms / 1000), ...drawn.map(({ values }) => values)],
    element,
  )
  if (canOpen) {
    listenForClicks(plot, (index, value, tolerance) =>
      handlers.current.onOpen?.(index, findSeriesAt(drawn, data, { index, value, tolerance })),
    )
  }
  return plot
}

function readBox({ over }: uPlot): PlotBox {
  return { left: over.offsetLeft, top: over.offsetTop, width: over.clientWidth, height: over.clientHeight }
}

function readPoint({ cursor, over, valToPos }: uPlot, times: readonly number[]): PointedBucket | null {
  const time = times[cursor.idx ?? -1]
  if (typeof cursor.idx !== 'number' || time === undefined) return null
  const left = valToPos(time / 1000, 'x')
  return { index: cursor.idx, left: over.offsetLeft + left, isBefore: left > over.clientWidth / 2 }
}

function zoom(plot: uPlot, onZoom: ChartCanvasProps['onZoom']): void {
  const { left, width } = plot.select
  if (width < dragPx) return
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
  onZoom?.(plot.posToIdx(left), plot.posToIdx(left + width))
}

function listenForClicks(
  plot: uPlot,
  onClick: (index: number, value: number, tolerance: number) => void,
): void {
  const { over } = plot
  over.style.cursor = 'pointer'
  let startedAt = 0
  over.addEventListener('pointerdown', ({ clientX }) => {
    startedAt = clientX
  })
  over.addEventListener('click', ({ clientX, offsetX, offsetY }) => {
    // The end of a selection is a click as well.
    if (Math.abs(clientX - startedAt) >= dragPx) return
    const value = plot.posToVal(offsetY, 'y')
    onClick(plot.posToIdx(offsetX), value, Math.abs(plot.posToVal(offsetY - nearPx, 'y') - value))
  })
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
  { bucketMs, series, kind, format, formatAxis = format }: ChartData,
  ink: Ink,
  canZoom: boolean,
): Omit<uPlot.Options, 'width' | 'height' | 'series'> {
  const half = bucketMs / 2000
  return {
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: canZoom, y: false, setScale: false, dist: dragPx },
      points: { show: kind === 'lines' },
    },
    scales: {
      x: { range: (_, min, max) => [min - half, max + half] },
      y: { range: (_, min, max) => [min < 0 ? min * 1.05 : 0, max > 0 ? max * 1.05 : 1] },
    },
    ...(isWholeDays(bucketMs) && {
      tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    }),
    axes: [
      {
        ...ink,
        space: 90,
        size: 34,
        values: (_, splits, __, ___, step) =>
          splits.map((seconds) => formatBucket(seconds * 1000, bucketMs, step * 1000)),
      },
      {
        ...ink,
        size: 70,
        values: (_, splits) => splits.map(formatAxis),
        ...(series.every(({ values }) => values.every(isWhole)) && { incrs: wholeSteps }),
      },
    ],
  }
}
