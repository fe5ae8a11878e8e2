// Writes docs/permissions.md: the permissions, the roles, and what each role may do with each operation.
import { loadOperations } from '../src/api/all.ts'
import type { Operation } from '../src/http/operation.ts'
import {
  infoOf,
  keyPermissions,
  type Permission,
  permissionNames,
  type ScopeLevel,
} from '../src/identity/permissions/permissions.ts'
import {
  additionalRoles,
  organizationRoles,
  type Role,
  workspaceRoles,
} from '../src/identity/permissions/roles.ts'

const operations = await loadOperations()

const introduction = `# Permissions

Every operation requires one permission, such as \`keys:read\`; the [API reference](../openapi.json) names it as \`x-headgate-permission\`. A caller without it gets 403, and the message and \`metadata.permission\` name the permission. Records of another organization are 404. \`npm run permissions\` generates this page.

- An **inference key** has the permissions for models, files and the records of its workspace.
- A **management key** has those for managing the organization, unless it is [limited](#management-keys).
- A **member** who is signed in has those of all their roles.

## Roles

Every member has a role in the organization (\`org:admin\` or \`org:member\`), and one in each workspace they are in (\`admin\` or \`member\`). Other roles are assigned in addition, in the whole organization or in one workspace; what a member may do is the sum. A permission of the scope "organization" has no effect in a role that is assigned in one workspace.

ROLES

An admin can define more roles, and assign them:

\`\`\`sh
curl http://127.0.0.1:8080/api/v1/roles -H "Authorization: Bearer $MANAGEMENT_KEY" \\
  -d '{"name": "Controller", "permissions": ["activity:read", "budgets:write"], "own_permissions": ["keys:read"]}'

curl http://127.0.0.1:8080/api/v1/organization/members/$MEMBER_ID/roles -H "Authorization: Bearer $MANAGEMENT_KEY" \\
  -d '{"role_id": "role_...", "workspace_id": "..."}'
\`\`\`

\`own_permissions\` apply to the records that the member created. Changes take effect at once. A role that is assigned cannot be deleted (409): remove its assignments first. Removing a member from a workspace or from the organization, or deleting the workspace, ends the roles there.

Nobody can grant what they do not have: a role or a management key with other permissions than the caller's is 403, and so is adding members to a workspace in which the caller may do less than they could, and making, demoting or removing an admin without all permissions. Every new member of the organization joins its default workspace: to add or invite one, a limited management key needs \`members:write\` and the management permissions of the roles \`org:member\` and \`member\`. What single sign-on and SCIM tokens can do needs all permissions. Who may create API keys in a workspace may do there what such keys can. The last admin of an organization cannot be demoted or removed.

A member who may manage only the keys they created can give each a limit of at most \`oauth.member_key_limit\` (10 USD by default), which cannot reset; a new key without a limit gets this one.

## Management keys

\`POST /management-keys\` creates a management key and shows its secret once. \`permissions\` limits what it may do, \`workspace_ids\` where:

\`\`\`sh
curl http://127.0.0.1:8080/api/v1/management-keys -H "Authorization: Bearer $MANAGEMENT_KEY" \\
  -d '{"name": "Reports", "permissions": ["activity:read", "keys:read"], "expires_at": "2099-01-31T00:00:00Z"}'
\`\`\`

On the command line: \`headgate keys create --management --permissions budgets:read,keys:read --workspaces default\`. A key keeps its permissions when the roles of its creator change; disable or delete it with \`/management-keys/{hash}\`.

## Rotating a key

\`POST /keys/{hash}/rotate\` gives an API key a new secret, which is shown once. It stays the same key: hash, limits, usage, guardrails and everything else that names it remain. The old secret ends at once, or after \`overlap_seconds\` (at most a week), so that clients can be changed one by one; other nodes notice within a second. The \`hash\` is then no longer the SHA-256 of the secret.
`

function renderRoles(): string {
  const kinds: [string, readonly Role[]][] = [
    ['the organization', Object.values(organizationRoles)],
    ['a workspace', Object.values(workspaceRoles)],
    ['either, in addition', additionalRoles],
  ]
  const rows = kinds.flatMap(([place, roles]) =>
    roles.map(({ id, name, description }) => `| \`${id}\` | ${name} | ${place} | ${description} |`),
  )
  return ['| Role | Name | Assigned in | |', '|---|---|---|---|', ...rows].join('\n')
}

const keyTexts = { inference: 'inference', management: 'management', any: 'both', none: 'none' }

const scopeTexts: Record<ScopeLevel, string> = {
  organization: 'organization',
  workspace: 'workspace',
  own: 'own records',
}

function renderPermissions(): string {
  const rows = permissionNames.map((name) => {
    const { summary, keys, scope, operatorOnly } = infoOf(name)
    const note = operatorOnly ? '; only in the organization that operates the installation' : ''
    return `| \`${name}\` | ${summary}${note} | ${keyTexts[keys]} | ${scopeTexts[scope]} |`
  })
  return ['| Permission | | Keys | Scope |', '|---|---|---|---|', ...rows].join('\n')
}

/** The columns of the table: who calls, and what they may do with an operation. */
const columns: [string, (permission: Permission, scope: ScopeLevel) => string][] = [
  ['inference key', (permission) => mark(keyPermissions.inference.has(permission))],
  ['management key', (permission) => mark(keyPermissions.management.has(permission))],
  ...Object.values(organizationRoles).map(columnOf),
  ...Object.values(workspaceRoles).map(columnOfWorkspace),
  ...additionalRoles.map(columnOf),
]

function mark(isAllowed: boolean): string {
  return isAllowed ? 'yes' : ''
}

/** A role that is assigned in the organization; its permissions for own records apply in all workspaces of a member. */
function columnOf(role: Role): [string, (permission: Permission, scope: ScopeLevel) => string] {
  return [
    role.id,
    (permission, scope) => (role.permissions.includes(permission) ? 'yes' : markOwn(role, permission, scope)),
  ]
}

function columnOfWorkspace(role: Role): [string, (permission: Permission, scope: ScopeLevel) => string] {
  return [
    role.id,
    (permission, scope) =>
      role.permissions.includes(permission) && scope !== 'organization'
        ? 'yes'
        : markOwn(role, permission, scope),
  ]
}

function markOwn({ ownPermissions }: Role, permission: Permission, scope: ScopeLevel): string {
  return ownPermissions.includes(permission) && scope === 'own' ? 'own' : ''
}

function renderOperations(): string {
  const header = ['Operation', 'Permission', ...columns.map(([name]) => name)]
  const rows = operations.map((operation) => `| ${cellsOf(operation).join(' | ')} |`)
  return [`| ${header.join(' | ')} |`, `|${'---|'.repeat(header.length)}`, ...rows].join('\n')
}

function cellsOf({ method, path, permission, scope }: Operation): string[] {
  const name = `\`${method} ${path}\``
  if (permission === 'public') return [name, 'public', ...columns.map(() => 'yes')]
  const required = scope ?? infoOf(permission).scope
  return [name, `\`${permission}\``, ...columns.map(([, cell]) => cell(permission, required))]
}

export function renderPermissionsPage(): string {
  return `${introduction.replace('ROLES', renderRoles())}
## All permissions

"Keys": the kinds of API keys that can have the permission. "Scope": the smallest part of an organization in which it can be granted.

${renderPermissions()}

## All operations

"own": for the records that the member created. Workspace roles apply in their workspace; the others are shown as assigned in the whole organization.

${renderOperations()}
`
}

if (import.meta.main) await Bun.write('docs/permissions.md', renderPermissionsPage())
