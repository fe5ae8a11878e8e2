import { Tooltip } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { PlotBox } from './chart-canvas.tsx'
import type { ChartData } from './chart-data.ts'

/** Something that happened, on the time axis. */
export interface ChartMark {
  id: string
  /** In milliseconds. */
  time: number
  label: string
  to: string
  search: Record<string, string>
}

interface ChartMarksProps {
  marks: readonly ChartMark[]
  data: Pick<ChartData, 'times' | 'bucketMs'>
  box: PlotBox
}

/** Marks over a chart, for the pointer: who uses the keyboard or a screen reader has them in a list. */
export function ChartMarks({ marks, data: { times, bucketMs }, box }: ChartMarksProps) {
  const [start = 0] = times
  const end = start + times.length * bucketMs
  return (
    <div aria-hidden="true">
      {marks
        .filter(({ time }) => time >= start && time < end)
        .map(({ id, time, label, to, search }) => (
          <Tooltip key={id} label={label} multiline maw={300}>
            <Link
              {...{ to, search }}
              tabIndex={-1}
              data-mark={id}
              style={{
                position: 'absolute',
                zIndex: 1,
                left: box.left + ((time - start) / (end - start)) * box.width - 6,
                top: box.top + box.height - 6,
                width: 12,
                height: 12,
                background: 'var(--mantine-color-body)',
                border: '2px solid var(--mantine-color-text)',
                borderRadius: 3,
                transform: 'rotate(45deg) scale(0.75)',
              }}
            />
          </Tooltip>
        ))}
    </div>
  )
}
