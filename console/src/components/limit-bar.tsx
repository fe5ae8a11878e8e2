import { Text } from '@mantine/core'
import { formatMoney } from '../format/money.ts'
import { type BudgetLimit, textsOf } from './budget-intervals.ts'
import { Time } from './time.tsx'
import { UsageBar } from './usage-bar.tsx'

type LimitAmounts = Pick<
  BudgetLimit,
  'limit' | 'spent' | 'held' | 'remaining' | 'forecast' | 'interval' | 'resets_at'
>

/** Shows the spent, held and remaining amounts of a limit, and its next reset. */
export function LimitBar({ limit }: { limit: LimitAmounts }) {
  const { limit: allowed, spent, held, remaining, forecast, resets_at } = limit
  // The amounts of the credits are hidden from those who see some workspaces only.
  if (allowed === null || spent === null || held === null) {
    return <Text size="xs">{formatMoney(remaining)} left</Text>
  }
  return (
    <UsageBar used={spent} held={held} limit={allowed} interval={textsOf(limit.interval).each}>
      , {formatMoney(remaining)} left
      {held > 0 && `, ${formatMoney(held)} held`}
      {forecast !== null && forecast > allowed && (
        <Text span inherit c="orange" fw={600}>
          , {formatMoney(forecast)} expected
        </Text>
      )}
      {resets_at && (
        <Text span inherit c="dimmed">
          , resets <Time iso={resets_at} style="age" />
        </Text>
      )}
    </UsageBar>
  )
}
