import { DailyUsage } from '../../components/daily-usage.tsx'
import { Panel } from '../../components/panel.tsx'

/** The last 30 days, day by day. */
export function SpendPanel({ name }: { name: string }) {
  return (
    <Panel title="Usage over time">
      <DailyUsage field="external_user" value={name} />
    </Panel>
  )
}
