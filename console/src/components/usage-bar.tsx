import { Group, Progress, Stack, Text } from '@mantine/core'
import { formatMoney } from '../format/money.ts'

interface UsageBarProps {
  used: number
  limit: number | null
  /** Such as `a day`. */
  interval?: string | null
}

/** How much of a limit is used, in dollars. */
export function UsageBar({ used, limit, interval }: UsageBarProps) {
  if (limit === null) return <Text size="sm">{formatMoney(used)}, no limit</Text>
  const percent = limit === 0 ? 100 : Math.min(100, (used / limit) * 100)
  const label = `${formatMoney(used)} of ${formatMoney(limit)}${interval ? ` ${interval}` : ''}`
  return (
    <Stack gap={4} miw={90}>
      <Progress.Root size="sm">
        <Progress.Section value={percent} color={colorOf(percent)} aria-label={label} />
      </Progress.Root>
      <Group gap={4}>
        <Text size="xs">{label}</Text>
      </Group>
    </Stack>
  )
}

function colorOf(percent: number): string {
  if (percent >= 100) return 'red'
  return percent >= 80 ? 'orange' : 'blue'
}
