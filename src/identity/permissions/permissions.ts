/** The smallest part of an organization in which a permission can be granted. */
export type ScopeLevel = 'organization' | 'workspace' | 'own'

interface PermissionInfo {
  summary: string
  /** The kinds of API keys that can have it; `none`: only members who are signed in. */
  keys: 'inference' | 'management' | 'any' | 'none'
  scope: ScopeLevel
  /** Restricts it to the organization that operates this installation. */
  operatorOnly?: true
}

type Describe = (scope: ScopeLevel, summary: string) => PermissionInfo

const inference: Describe = (scope, summary) => ({ keys: 'inference', scope, summary })
const management: Describe = (scope, summary) => ({ keys: 'management', scope, summary })
const anyKey: Describe = (scope, summary) => ({ keys: 'any', scope, summary })
const membersOnly: Describe = (scope, summary) => ({ keys: 'none', scope, summary })
const operator: Describe = (scope, summary) => ({ ...management(scope, summary), operatorOnly: true })

/**
 * Every operation requires one of these. Who can have it, the smallest part in which it can be held (`own`: the records
 * that the caller created), and what it allows.
 */
export const permissions = {
  'inference:write': inference('own', 'Send requests to models'),
  'conversations:read': inference('workspace', 'Read stored responses and conversations'),
  'conversations:write': inference('workspace', 'Change and delete stored responses and conversations'),
  'identity:read': anyKey('own', 'Read who is signed in, and the limits of the calling key'),
  'account:read': membersOnly('own', 'Read the own account and its sessions'),
  'account:write': membersOnly('own', 'Change how the own account signs in, and end its sessions'),
  'models:read': anyKey('own', 'Read models, endpoints and providers'),
  'datasets:read': anyKey('own', 'Read benchmarks, rankings and classifications'),
  'files:read': anyKey('workspace', 'Read files and containers'),
  'files:write': anyKey('workspace', 'Upload and delete files'),
  'videos:read': anyKey('workspace', 'Read video jobs and their results'),
  'videos:write': anyKey('workspace', 'Delete video jobs'),
  'generations:read': anyKey('own', 'Read the records of requests'),
  'contents:read': anyKey('own', 'Read stored prompts and replies'),
  'generations:write': management('own', 'Submit feedback about requests'),
  'activity:read': management('own', 'Read spending and usage'),
  'keys:read': management('own', 'Read API keys'),
  'keys:write': management('own', 'Create, change and delete API keys'),
  'workspaces:read': management('workspace', 'Read workspaces'),
  'workspaces:write': management('workspace', 'Create, change and delete workspaces'),
  'members:read': management('workspace', 'Read the members of organization and workspaces'),
  'members:write': management('workspace', 'Add, change and remove members'),
  'roles:read': management('workspace', 'Read roles and who has them'),
  'roles:write': management('workspace', 'Change roles, and assign them to members'),
  'management_keys:read': management('organization', 'Read management keys'),
  'management_keys:write': management('organization', 'Create, change and delete management keys'),
  'budgets:read': management('workspace', 'Read budgets'),
  'budgets:write': management('workspace', 'Change budgets'),
  'sessions:read': management('organization', 'Read the sessions of members'),
  'sessions:write': management('organization', 'End the sessions of members'),
  'credits:read': management('organization', 'Read the credits'),
  'credits:write': operator('organization', 'Grant credits'),
  'guardrails:read': management('workspace', 'Read and preview guardrails'),
  'guardrails:write': management('workspace', 'Change guardrails'),
  'privacy:read': management('organization', 'Read the privacy settings'),
  'privacy:write': management('organization', 'Change the privacy settings'),
  'plugins:read': management('organization', 'Read the default plugins'),
  'plugins:write': management('organization', 'Change the default plugins'),
  'presets:read': management('workspace', 'Read presets'),
  'presets:write': management('workspace', 'Change presets'),
  'model_aliases:read': management('workspace', 'Read model aliases'),
  'model_aliases:write': management('workspace', 'Change model aliases, and so which models requests reach'),
  'routing_rules:read': management('workspace', 'Read routing rules, and try them on past requests'),
  'routing_rules:write': management(
    'workspace',
    'Change routing rules, and so which models requests reach and which are rejected',
  ),
  'shadows:read': operator('organization', 'Read shadows, and how their answers differ'),
  'shadows:write': operator(
    'organization',
    'Change shadows, and compare requests at the cost of the operator',
  ),
  'saved_views:read': management('own', 'Read saved views: the own ones and those that are shared'),
  'saved_views:write': management('own', 'Save views, and change the own ones'),
  'shared_views:write': management('workspace', 'Share saved views, and change those that are shared'),
  'comparisons:read': management('own', 'Read comparisons: the own ones and those that are shared'),
  'comparisons:write': management('own', 'Save comparisons, change the own ones, and vote'),
  'shared_comparisons:write': management('workspace', 'Share comparisons, and change those that are shared'),
  'configuration:read': management('organization', 'Read which records configuration files declare'),
  'configuration:write': management('organization', 'Change which records configuration files declare'),
  'byok:read': management('workspace', 'Read provider keys (BYOK)'),
  'byok:write': management('workspace', 'Change provider keys (BYOK)'),
  'destinations:read': management('workspace', 'Read observability destinations and their deliveries'),
  'destinations:write': management('workspace', 'Change observability destinations and their deliveries'),
  'notifications:read': management('workspace', 'Read notifications and their rules'),
  'notifications:write': management(
    'workspace',
    'Change the rules of notifications, and mark notifications as read',
  ),
  'scim:read': management('organization', 'Read SCIM groups, mappings, jobs and tokens'),
  'scim:write': management('organization', 'Change SCIM mappings and tokens'),
  'sso:read': management('organization', 'Read the single sign-on of the organization'),
  'sso:write': management(
    'organization',
    'Change the single sign-on of the organization, which decides who can sign in as whom',
  ),
  'audit:read': management('organization', 'Read the audit log'),
  'audit:write': management('organization', 'Change where the audit log is sent'),
  'workload_identity:read': management('organization', 'Read the issuers and policies of workload identity'),
  'workload_identity:write': management(
    'organization',
    'Change the issuers and policies of workload identity',
  ),
  'system:read': operator('organization', 'Read the state of the installation, and check its ledger'),
  'catalogue:read': operator('organization', 'Read the catalog overrides'),
  'catalogue:write': operator('organization', 'Change the catalog'),
} satisfies Record<string, PermissionInfo>

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

/** Permissions of a key of each kind, unless it is limited further. */
export const keyPermissions = {
  inference: listForKeys('inference'),
  management: listForKeys('management'),
}
