import { Alert, Code } from '@mantine/core'
import { Outlet, useMatches } from '@tanstack/react-router'
import { Page } from '../components/page.tsx'
import { findNavigationItem, innerScreens, mayOpen } from './navigation.ts'
import { useSession } from './session.tsx'

/** The screen; for those who may not see it, the permission that it needs. */
export function PermittedOutlet() {
  const session = useSession()
  // Not the location, which is ahead of what the outlet shows while the next screen is loaded.
  const pathname = useMatches({ select: (matches) => matches.at(-1)?.pathname ?? '/' })
  const item =
    innerScreens.find(({ to }) => to === pathname || pathname.startsWith(`${to}/`)) ??
    findNavigationItem(pathname)
  if (!item?.permission || mayOpen(session, item)) return <Outlet />
  return (
    <Page key={pathname} title={item.label}>
      <Alert title="Your role does not allow this" role="status">
        The screen needs the permission <Code>{item.permission}</Code>. Ask an admin of your organization for
        a role that has it.
      </Alert>
    </Page>
  )
}
