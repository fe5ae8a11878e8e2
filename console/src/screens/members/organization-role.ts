import type { Schemas } from '../../api/client.ts'

export type OrganizationRole = Schemas['OrganizationMember']['role']

/** The roles in the organization; every member has one. */
export const organizationRoles: { value: OrganizationRole; label: string; explanation: string }[] = [
  {
    value: 'org:member',
    label: 'Member',
    explanation: 'Signs in and sees models; the rest comes from workspaces and additional roles.',
  },
  { value: 'org:admin', label: 'Admin', explanation: 'May do everything in the organization.' },
]

export function labelOfRole(role: OrganizationRole): string {
  return organizationRoles.find(({ value }) => value === role)?.label ?? role
}
