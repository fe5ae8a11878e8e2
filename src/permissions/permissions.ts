/** The smallest part of an organization in which a permission can be granted. */
export type Scope = 'organization' | 'workspace' | 'own'

interface PermissionInfo {
  summary: string
  /** The kinds of API keys that can have it; `none`: only members who are signed in. */
  keys: 'inference' | 'management' | 'any' | 'none'
  scope: Scope
  /** Only in the organization that operates this installation. */
  operatorOnly?: true
}

/** Every operation requires one of these. `own`: the records that the caller created. */
export const permissions = {
  'inference:write': { summary: 'Send requests to models', keys: 'inference', scope: 'own' },
  'conversations:read': {
    summary: 'Read stored responses and conversations',
    keys: 'inference',
    scope: 'workspace',
  },
  'conversations:write': {
    summary: 'Change and delete stored responses and conversations',
    keys: 'inference',
    scope: 'workspace',
  },
  'identity:read': {
    summary: 'Read who is signed in, and the limits of the calling key',
    keys: 'any',
    scope: 'own',
  },
  'account:read': { summary: 'Read the own account and its sessions', keys: 'none', scope: 'own' },
  'account:write': {
    summary: 'Change how the own account signs in, and end its sessions',
    keys: 'none',
    scope: 'own',
  },
  'models:read': { summary: 'Read models, endpoints and providers', keys: 'any', scope: 'own' },
  'datasets:read': { summary: 'Read benchmarks, rankings and classifications', keys: 'any', scope: 'own' },
  'files:read': { summary: 'Read files and containers', keys: 'any', scope: 'workspace' },
  'files:write': { summary: 'Upload and delete files', keys: 'any', scope: 'workspace' },
  'videos:read': { summary: 'Read video jobs and their results', keys: 'any', scope: 'workspace' },
  'videos:write': { summary: 'Delete video jobs', keys: 'any', scope: 'workspace' },
  'generations:read': { summary: 'Read the records of requests', keys: 'any', scope: 'own' },
  'contents:read': { summary: 'Read stored prompts and replies', keys: 'any', scope: 'own' },
  'generations:write': {
    summary: 'Submit feedback about requests',
    keys: 'management',
    scope: 'own',
  },
  'activity:read': { summary: 'Read spending and usage', keys: 'management', scope: 'own' },
  'keys:read': { summary: 'Read API keys', keys: 'management', scope: 'own' },
  'keys:write': { summary: 'Create, change and delete API keys', keys: 'management', scope: 'own' },
  'workspaces:read': { summary: 'Read workspaces', keys: 'management', scope: 'workspace' },
  'workspaces:write': {
    summary: 'Create, change and delete workspaces',
    keys: 'management',
    scope: 'workspace',
  },
  'members:read': {
    summary: 'Read the members of organization and workspaces',
    keys: 'management',
    scope: 'workspace',
  },
  'members:write': {
    summary: 'Add, change and remove members',
    keys: 'management',
    scope: 'workspace',
  },
  'roles:read': {
    summary: 'Read roles and who has them',
    keys: 'management',
    scope: 'workspace',
  },
  'roles:write': {
    summary: 'Change roles, and assign them to members',
    keys: 'management',
    scope: 'workspace',
  },
  'management_keys:read': { summary: 'Read management keys', keys: 'management', scope: 'organization' },
  'management_keys:write': {
    summary: 'Create, change and delete management keys',
    keys: 'management',
    scope: 'organization',
  },
  'budgets:read': { summary: 'Read budgets', keys: 'management', scope: 'workspace' },
  'budgets:write': { summary: 'Change budgets', keys: 'management', scope: 'workspace' },
  'sessions:read': {
    summary: 'Read the sessions of members',
    keys: 'management',
    scope: 'organization',
  },
  'sessions:write': {
    summary: 'End the sessions of members',
    keys: 'management',
    scope: 'organization',
  },
  'credits:read': { summary: 'Read the credits', keys: 'management', scope: 'organization' },
  'credits:write': {
    summary: 'Grant credits',
    keys: 'management',
    scope: 'organization',
    operatorOnly: true,
  },
  'guardrails:read': { summary: 'Read and preview guardrails', keys: 'management', scope: 'workspace' },
  'guardrails:write': { summary: 'Change guardrails', keys: 'management', scope: 'workspace' },
  'privacy:read': { summary: 'Read the privacy settings', keys: 'management', scope: 'organization' },
  'privacy:write': { summary: 'Change the privacy settings', keys: 'management', scope: 'organization' },
  'plugins:read': { summary: 'Read the default plugins', keys: 'management', scope: 'organization' },
  'plugins:write': { summary: 'Change the default plugins', keys: 'management', scope: 'organization' },
  'presets:read': { summary: 'Read presets', keys: 'management', scope: 'workspace' },
  'presets:write': { summary: 'Change presets', keys: 'management', scope: 'workspace' },
  'byok:read': { summary: 'Read provider keys (BYOK)', keys: 'management', scope: 'workspace' },
  'byok:write': { summary: 'Change provider keys (BYOK)', keys: 'management', scope: 'workspace' },
  'destinations:read': {
    summary: 'Read observability destinations and their deliveries',
    keys: 'management',
    scope: 'workspace',
  },
  'destinations:write': {
    summary: 'Change observability destinations and their deliveries',
    keys: 'management',
    scope: 'workspace',
  },
  'notifications:read': {
    summary: 'Read notifications and their rules',
    keys: 'management',
    scope: 'workspace',
  },
  'notifications:write': {
    summary: 'Change the rules of notifications, and mark notifications as read',
    keys: 'management',
    scope: 'workspace',
  },
  'scim:read': {
    summary: 'Read SCIM groups, mappings, jobs and tokens',
    keys: 'management',
    scope: 'organization',
  },
  'scim:write': {
    summary: 'Change SCIM mappings and tokens',
    keys: 'management',
    scope: 'organization',
  },
  'sso:read': {
    summary: 'Read the single sign-on of the organization',
    keys: 'management',
    scope: 'organization',
  },
  'sso:write': {
    summary: 'Change the single sign-on of the organization, which decides who can sign in as whom',
    keys: 'management',
    scope: 'organization',
  },
  'audit:read': { summary: 'Read the audit log', keys: 'management', scope: 'organization' },
  'audit:write': {
    summary: 'Change where the audit log is sent',
    keys: 'management',
    scope: 'organization',
  },
  'workload_identity:read': {
    summary: 'Read the issuers and policies of workload identity',
    keys: 'management',
    scope: 'organization',
  },
  'workload_identity:write': {
    summary: 'Change the issuers and policies of workload identity',
    keys: 'management',
    scope: 'organization',
  },
  'catalogue:read': {
    summary: 'Read the catalogue overrides',
    keys: 'management',
    scope: 'organization',
    operatorOnly: true,
  },
  'catalogue:write': {
    summary: 'Change the catalogue',
    keys: 'management',
    scope: 'organization',
    operatorOnly: true,
  },
} as const satisfies Record<string, PermissionInfo>

export type Permission = keyof typeof permissions

export type PermissionSet = ReadonlySet<Permission>

export const permissionNames = Object.keys(permissions) as Permission[]

export function infoOf(permission: Permission): PermissionInfo {
  return permissions[permission]
}

export function isPermission(text: string): text is Permission {
  return Object.hasOwn(permissions, text)
}

function listForKeys(kind: 'inference' | 'management'): PermissionSet {
  return new Set(permissionNames.filter((name) => ['any', kind].includes(infoOf(name).keys)))
}

/** What a key of each kind may do unless it is limited further. */
export const keyPermissions = {
  inference: listForKeys('inference'),
  management: listForKeys('management'),
}
