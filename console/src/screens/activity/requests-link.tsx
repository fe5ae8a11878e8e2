import type { ReactNode } from 'react'
import { TextLink } from '../../components/text-link.tsx'
import { type Part, requestSearchOf, useMayReadRequests } from './request-search.ts'
import type { View } from './view.ts'

interface RequestsLinkProps extends Part {
  view: View
  /** The accessible name: what the requests are behind. */
  label: string
  children: ReactNode
  /** What stands in place of the link for those who may not read requests. */
  fallback?: ReactNode
}

/** Leads to the requests behind a part of what is shown. */
export function RequestsLink({ view, label, children, fallback = null, ...part }: RequestsLinkProps) {
  const mayRead = useMayReadRequests()
  const search = requestSearchOf(view, part)
  if (!mayRead || !search) return <>{fallback}</>
  return (
    <TextLink to="/requests" search={search} aria-label={label} inherit c="inherit" underline="hover">
      {children}
    </TextLink>
  )
}
