import { mayDo, useSession } from '../app/session.tsx'
import { ButtonLink } from './button-link.tsx'

interface HistoryButtonProps {
  /** What the entries are about, as the filters of the audit log. */
  search: Partial<Record<'target_id' | 'target_type' | 'workspace_id', string>>
  /** The accessible name, for screen readers that read the button without its context. */
  label?: string
  size?: 'xs' | 'compact-xs'
}

/** Leads to the entries of the audit log about an object, for those who may read them. */
export function HistoryButton({ search, label, size = 'xs' }: HistoryButtonProps) {
  if (!mayDo(useSession(), 'audit:read')) return null
  return (
    <ButtonLink to="/audit" search={search} size={size} {...(label && { 'aria-label': label })}>
      History
    </ButtonLink>
  )
}
