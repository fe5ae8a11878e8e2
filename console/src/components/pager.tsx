import { Button, Group, Text } from '@mantine/core'
import { formatCount } from '../format/number.ts'

interface PagerProps {
  offset: number
  /** Rows of a page, at most. */
  size: number
  /** Null if the server does not say it, and there is a further page. */
  total: number | null
  onChange: (offset: number) => void
}

/** Steps through a list that the server pages by offset. Nothing, if there is only one page. */
export function Pager({ offset, size, total, onChange }: PagerProps) {
  const end = total ?? Number.POSITIVE_INFINITY
  if (offset === 0 && end <= size) return null
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
        {formatCount(Math.min(offset + 1, end))} to {formatCount(Math.min(offset + size, end))}
        {total !== null && ` of ${formatCount(total)}`}
      </Text>
      <Button
        variant="default"
        size="xs"
        disabled={offset + size >= end}
        onClick={() => onChange(offset + size)}
      >
        Next
      </Button>
    </Group>
  )
}
