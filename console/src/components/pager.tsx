import { Button, Group, Text } from '@mantine/core'
import { formatCount } from '../format/number.ts'

interface PagerProps {
  offset: number
  /** How many a page has at most. */
  size: number
  total: number
  onChange: (offset: number) => void
}

/** Steps through a list that the server pages by offset. Nothing, if there is only one page. */
export function Pager({ offset, size, total, onChange }: PagerProps) {
  if (offset === 0 && total <= size) return null
  return (
    <Group component="nav" aria-label="Pages" gap="sm">
      <Button
        variant="default"
        size="xs"
        disabled={offset === 0}
        onClick={() => onChange(Math.max(0, offset - size))}
      >
        Previous
      </Button>
      <Text size="sm">
        {formatCount(Math.min(offset + 1, total))} to {formatCount(Math.min(offset + size, total))} of{' '}
        {formatCount(total)}
      </Text>
      <Button
        variant="default"
        size="xs"
        disabled={offset + size >= total}
        onClick={() => onChange(offset + size)}
      >
        Next
      </Button>
    </Group>
  )
}
