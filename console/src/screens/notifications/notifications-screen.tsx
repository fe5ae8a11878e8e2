import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { writeOffset } from '../../app/search-params.ts'
import { Page } from '../../components/page.tsx'
import { History, historyOptions } from './history.tsx'
import { Rules, rulesOptions } from './rules.tsx'

export const screen = createLazyRoute('/notifications')({ component: NotificationsScreen })

function NotificationsScreen() {
  const { offset = 0, kind = 'low_balance', workspace_id = null } = screen.useSearch()
  const navigate = screen.useNavigate()
  return (
    <Page
      title="Notifications"
      docs="notifications"
      description="Alerts for low credits, budgets, expiring keys and failures. Rules set the thresholds and who is notified."
      calls={[callOf(rulesOptions), callOf(historyOptions(offset))]}
    >
      <Rules initial={{ kind, workspaceId: workspace_id }} />
      <History offset={offset} onChange={(next) => void navigate({ search: writeOffset(next) })} />
    </Page>
  )
}
