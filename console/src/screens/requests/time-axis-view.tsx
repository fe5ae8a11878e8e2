import { Box, Text } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { listMarks } from './time-axis.ts'

/** Pixels that a mark with its label needs. */
const markWidth = 90

/** A line of times below a chart. The bars say theirs to screen readers. */
export function TimeAxis({ start, end }: { start: number; end: number }) {
  const { ref, width } = useElementSize()
  return (
    <Box ref={ref} pos="relative" h={20} aria-hidden="true" style={{ overflow: 'hidden' }}>
      {listMarks(start, end, Math.floor(width / markWidth)).map(({ time, left, label }) => (
        <Text
          key={time}
          size="xs"
          c="dimmed"
          pos="absolute"
          left={`${left}%`}
          pl={4}
          style={{ borderLeft: '1px solid var(--mantine-color-default-border)', whiteSpace: 'nowrap' }}
        >
          {label}
        </Text>
      ))}
    </Box>
  )
}
