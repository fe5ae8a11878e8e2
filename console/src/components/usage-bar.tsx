import { Progress, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { formatMoney } from '../format/money.ts'

interface UsageBarProps {
  used: number
  /** Dollars held for running requests. */
  held?: number
  limit: number | null
  /** Text such as `a day`. */
  interval?: string | null
  /** Further text of the label. */
  children?: ReactNode
}

/** Shows the used share of a limit, in dollars. */
export function UsageBar({ used, held = 0, limit, interval, children }: UsageBarProps) {
  if (limit === null) return <Text size="sm">{formatMoney(used)}, no limit</Text>
  const percent = percentOf(used, limit)
  const label = `${formatMoney(used)} of ${formatMoney(limit)}${interval ? ` ${interval}` : ''}`
  return (
    <Stack gap={4} miw={90}>
      <Progress.Root size="sm">
        <Progress.Section value={percent} color={colorOf(percent)} aria-label={label} />
        {held > 0 && (
          <Progress.Section
            value={Math.min(percentOf(held, limit), 100 - percent)}
            color="gray"
            aria-label={`${formatMoney(held)} held`}
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
