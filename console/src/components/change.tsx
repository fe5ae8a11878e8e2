import { Text, Tooltip } from '@mantine/core'
import { formatShare } from '../format/number.ts'
import { changeBetween } from './change-between.ts'

interface ChangeProps {
  value: number | null | undefined
  previous: number | null | undefined
  format: (value: number) => string
}

/** Shows the difference from the previous period. More is neither good nor bad, so it has no color. */
export function Change({ value, previous, format }: ChangeProps) {
  if (value === undefined || previous === undefined) return null
  const change = changeBetween(value, previous)
  const before = previous === null ? 'nothing' : format(previous)
  return (
    <Tooltip label={`Period before: ${before}`}>
      <Text size="xs" c="dimmed" component="span" style={{ whiteSpace: 'nowrap' }}>
        {change === undefined ? `before: ${before}` : formatChange(change)}
      </Text>
    </Tooltip>
  )
}

function formatChange(change: number): string {
  if (Math.abs(change) < 0.0005) return 'no change'
  return `${change > 0 ? '▲ +' : '▼ '}${formatShare(change)}`
}
