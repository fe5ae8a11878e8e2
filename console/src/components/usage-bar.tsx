import { Progress, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { formatMoney } from '../format/money.ts'

interface UsageBarProps {
  used: number
  /** What is held for running requests. */
  held?: number
  limit: number | null
  /** Text of an amount; dollars by default. */
  format?: (amount: number) => string
  /** Text such as `a day`. */
  interval?: string | null
  /** Further text of the label. */
  children?: ReactNode
}

/** Shows the used share of a limit. */
export function UsageBar(props: UsageBarProps) {
  const { used, held = 0, limit, format = formatMoney, interval, children } = props
  if (limit === null) return <Text size="sm">{format(used)}, no limit</Text>
  const percent = percentOf(used, limit)
  const label = `${format(used)} of ${format(limit)}${interval ? ` ${interval}` : ''}`
  return (
    <Stack gap={4} miw={90}>
      <Progress.Root size="sm">
        <Progress.Section value={percent} color={colorOf(percent)} aria-label={label} />
        {held > 0 && (
          <Progress.Section
            value={Math.min(percentOf(held, limit), 100 - percent)}
            color="gray"
            aria-label={`${format(held)} held`}
          />
        )}
      </Progress.Root>
      <Text size="xs" component="div">
        {label}
        {children}
      </Text>
    </Stack>
  )
}

function percentOf(part: number, whole: number): number {
  return whole <= 0 ? 100 : Math.max(0, Math.min(100, (part / whole) * 100))
}

function colorOf(percent: number): string {
  if (percent >= 100) return 'red'
  return percent >= 80 ? 'orange' : 'blue'
}
