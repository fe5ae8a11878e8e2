import { type Permission, permissionNames } from './permissions.ts'

/** A set of permissions in the organization or the workspace where the role is assigned. */
export interface Role {
  id: string
  name: string
  description: string
  permissions: readonly Permission[]
  /** Permissions for the records that the member created. */
  ownPermissions: readonly Permission[]
}

/** Prompts and replies: those of records, and those that clients stored. */
const contentReads: readonly Permission[] = ['contents:read', 'conversations:read', 'comparisons:read']

const reads = permissionNames.filter((name) => name.endsWith(':read') && !contentReads.includes(name))

/** Every member has one of these in the organization. */
export const organizationRoles = {
  'org:admin': {
    id: 'org:admin',
    name: 'Admin',
    description: 'May do everything in the organization.',
    permissions: permissionNames,
    ownPermissions: [],
  },
  'org:member': {
    id: 'org:member',
    name: 'Member',
    description: 'May sign in and see models. Other permissions come from workspaces and further roles.',
    permissions: [
      'identity:read',
      'account:read',
      'account:write',
      'models:read',
      'datasets:read',
      'saved_views:read',
      'saved_views:write',
      'comparisons:read',
      'comparisons:write',
    ],
    ownPermissions: [],
  },
} as const satisfies Record<string, Role>

/** Every member of a workspace has one of these there. */
export const workspaceRoles = {
  admin: {
    id: 'admin',
    name: 'Workspace admin',
    description: 'May do everything in the workspace.',
    permissions: permissionNames,
    ownPermissions: [],
  },
  member: {
    id: 'member',
    name: 'Workspace member',
    description: 'May use models and files, and manage the keys they created.',
    permissions: [
      'inference:write',
      'conversations:read',
      'conversations:write',
      'files:read',
      'files:write',
      'videos:read',
      'videos:write',
      'workspaces:read',
      'presets:read',
      'shared_views:write',
      'shared_comparisons:write',
    ],
    ownPermissions: [
      'keys:read',
      'keys:write',
      'activity:read',
      'generations:read',
      'generations:write',
      'contents:read',
    ],
  },
} as const satisfies Record<string, Role>

/** Assigned in addition, in the organization or in one workspace. */
export const additionalRoles: readonly Role[] = [
  {
    id: 'viewer',
    name: 'Viewer',
    description: 'May read everything except stored prompts and replies.',
    permissions: reads,
    ownPermissions: [],
  },
  {
    id: 'billing',
    name: 'Billing',
    description: 'May read spending and change budgets.',
    permissions: [
      'activity:read',
      'budgets:read',
      'budgets:write',
      'credits:read',
      'credits:write',
      'keys:read',
      'workspaces:read',
      'members:read',
      'notifications:read',
      'notifications:write',
    ],
    ownPermissions: [],
  },
  {
    id: 'auditor',
    name: 'Auditor',
    description: 'May read everything, stored prompts and replies included.',
    permissions: [...reads, ...contentReads],
    ownPermissions: [],
  },
  {
    id: 'developer',
    name: 'Developer',
    description: 'May use models, and change presets, files and the keys they created.',
    permissions: [
      ...workspaceRoles.member.permissions,
      'presets:write',
      'guardrails:read',
      'budgets:read',
      'model_aliases:read',
      'routing_rules:read',
      'byok:read',
      'destinations:read',
    ],
    ownPermissions: workspaceRoles.member.ownPermissions,
  },
]

export const builtInRoles: readonly Role[] = [
  ...Object.values(organizationRoles),
  ...Object.values(workspaceRoles),
  ...additionalRoles,
]
