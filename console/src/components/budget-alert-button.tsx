import { mayDoIn, useSession } from '../app/session.tsx'
import { ButtonLink } from './button-link.tsx'

interface BudgetAlertButtonProps {
  workspaceId: string
  /** The accessible name, for screen readers that read the button without its context. */
  label?: string
  size?: 'xs' | 'compact-xs'
}

/** Leads to the form of a notification about the budgets of a workspace, for those who may add one. */
export function BudgetAlertButton({ workspaceId, label, size = 'xs' }: BudgetAlertButtonProps) {
  if (!mayDoIn(useSession(), workspaceId, 'notifications:write')) return null
  return (
    <ButtonLink
      to="/notifications"
      search={{ kind: 'budget', workspace_id: workspaceId }}
      hash="add"
      size={size}
      {...(label && { 'aria-label': label })}
    >
      Add alert
    </ButtonLink>
  )
}
