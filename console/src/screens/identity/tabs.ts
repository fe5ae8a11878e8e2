import { mayDoEverywhere, type Permission, type Session } from '../../app/session.tsx'

const tabs = [
  { value: 'sso', label: 'Single sign-on', permission: 'sso:read' },
  { value: 'scim', label: 'SCIM', permission: 'scim:read' },
  { value: 'workload', label: 'Workloads', permission: 'workload_identity:read' },
] as const satisfies { value: string; label: string; permission: Permission }[]

export type Tab = (typeof tabs)[number]['value']

/** Reads the tab from the address. */
export function readTab({ tab }: Record<string, unknown>): { tab?: Tab } {
  const known = tabs.find(({ value }) => value === tab)
  return known ? { tab: known.value } : {}
}

export function visibleTabs(session: Session) {
  return tabs.filter(({ permission }) => mayDoEverywhere(session, permission))
}
