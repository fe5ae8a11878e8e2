import { Box, Text } from '@mantine/core'
import { type KeyboardEvent, type PointerEvent, type ReactNode, useState } from 'react'
import { formatTime } from '../../format/time.ts'
import { type Brush, bucketAt, moveBrush, periodOf } from './brush.ts'

interface BrushAreaProps {
  /** The beginnings of the buckets, and the end of the last. */
  starts: readonly number[]
  onZoom: (period: { from: string; to: string }) => void
  /** What is in these buckets, both inclusive. */
  describe: (from: number, to: number) => string
  /** The chart, as wide as the area. */
  children: ReactNode
  /** Content between the chart and the text about the choice. */
  axis: ReactNode
}

/** Chooses a part of a chart of equally long buckets: by dragging, or with arrow keys and Enter. */
export function BrushArea({ starts, onZoom, describe, children, axis }: BrushAreaProps) {
  const [brush, setBrush] = useState<Brush | null>(null)
  const [isDragging, setDragging] = useState(false)
  const count = starts.length - 1
  const zoom = () => {
    const period = brush && periodOf(brush, starts)
    setBrush(null)
    setDragging(false)
    if (period) onZoom(period)
  }
  const bucketOf = ({ clientX, currentTarget }: PointerEvent<HTMLElement>) => {
    const { left, width } = currentTarget.getBoundingClientRect()
    return bucketAt(clientX - left, width, count)
  }
  const begin = (event: PointerEvent<HTMLElement>) => {
    if (event.button !== 0 || count < 1) return
    event.currentTarget.setPointerCapture(event.pointerId)
    const at = bucketOf(event)
    setBrush({ from: at, to: at })
    setDragging(true)
  }
  const drag = (event: PointerEvent<HTMLElement>) => {
    if (brush && isDragging) setBrush({ ...brush, to: bucketOf(event) })
  }
  const cancel = () => {
    setBrush(null)
    setDragging(false)
  }
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && brush) zoom()
    // Escape leads nowhere else while something is chosen.
    else if (event.key === 'Escape' && brush) cancel()
    else if (event.key === 'ArrowLeft' || event.key === 'ArrowRight')
      setBrush(
        moveBrush(brush, { step: event.key === 'ArrowLeft' ? -1 : 1, isExtending: event.shiftKey }, count),
      )
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <>
      <Box
        role="group"
        aria-label="Zoom: choose with the arrow keys, extend with Shift, and press Enter"
        tabIndex={0}
        pos="relative"
        style={{ lineHeight: 0, cursor: 'crosshair', touchAction: 'pan-y', userSelect: 'none' }}
        onPointerDown={begin}
        onPointerMove={drag}
        onPointerUp={() => isDragging && zoom()}
        onPointerCancel={cancel}
        onKeyDown={press}
        onBlur={() => setBrush(null)}
      >
        {children}
        {brush && <Shade brush={brush} count={count} />}
      </Box>
      {axis}
      <Text size="xs" role="status" h={18} truncate>
        {brush && describeBrush(brush, starts, describe)}
      </Text>
    </>
  )
}

function Shade({ brush: { from, to }, count }: { brush: Brush; count: number }) {
  return (
    <Box
      pos="absolute"
      top={0}
      bottom={0}
      left={`${(Math.min(from, to) / count) * 100}%`}
      w={`${((Math.abs(to - from) + 1) / count) * 100}%`}
      style={{
        background: 'color-mix(in srgb, var(--mantine-primary-color-filled) 25%, transparent)',
        pointerEvents: 'none',
      }}
    />
  )
}

function describeBrush(
  { from, to }: Brush,
  starts: readonly number[],
  describe: BrushAreaProps['describe'],
): string {
  const [first, last] = [Math.min(from, to), Math.max(from, to)]
  const [start = 0, end = 0] = [starts[first], starts[last + 1]]
  const text = (time: number) => formatTime(new Date(time).toISOString())
  return `${text(start)} – ${text(end)}: ${describe(first, last)}`
}
