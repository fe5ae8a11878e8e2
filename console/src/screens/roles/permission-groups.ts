import type { Permission } from '../../app/session.tsx'

export interface PermissionGroup {
  label: string
  permissions: Permission[]
}

/** Labels that cannot be derived from the name of the permission. */
const labels: Record<string, string> = {
  inference: 'Models: send requests',
  contents: 'Stored prompts and replies',
  generations: 'Requests',
  byok: 'Credentials of providers (BYOK)',
  scim: 'SCIM',
  sso: 'Single sign-on',
  account: 'Own account',
  identity: 'Own identity',
  destinations: 'Observability destinations',
}

/** Permissions by what they are about, in the order given. `search` matches names and labels. */
export function groupPermissions(permissions: Permission[], search = ''): PermissionGroup[] {
  const groups = new Map<string, PermissionGroup>()
  for (const permission of permissions) {
    const [subject = ''] = permission.split(':')
    const group = groups.get(subject) ?? { label: labelOf(subject), permissions: [] }
    group.permissions.push(permission)
    groups.set(subject, group)
  }
  const wanted = search.trim().toLowerCase()
  return [...groups.values()].flatMap((group) => {
    if (group.label.toLowerCase().includes(wanted)) return [group]
    const matching = group.permissions.filter((permission) => permission.includes(wanted))
    return matching.length > 0 ? [{ ...group, permissions: matching }] : []
  })
}

function labelOf(subject: string): string {
  const words = subject.replaceAll('_', ' ')
  return labels[subject] ?? words.charAt(0).toUpperCase() + words.slice(1)
}
