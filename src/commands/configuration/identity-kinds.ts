import { z } from 'zod'
import { asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { shadowWorkspaceSlug } from '../../storage/shadows/shadow.ts'
import { listRecords, readRecord } from './client.ts'
import {
  asNames,
  compareNames,
  defineKind,
  idsOf,
  keyRef,
  listByWorkspace,
  listPages,
  memberRef,
  workspaceRef,
} from './define-kind.ts'
import type { Kind, KindContext, Part } from './kind.ts'

const listKeys = listByWorkspace('/keys', { include_disabled: 'true' })

/** Without the keys that shadows create for themselves. */
async function listDeclarableKeys(context: KindContext): Promise<JsonObject[]> {
  const own = context.records('Workspace').find(({ name }) => name === shadowWorkspaceSlug)
  return (await listKeys(context)).filter(({ workspace_id }) => own === undefined || workspace_id !== own.id)
}

const intervals = ['daily', 'weekly', 'monthly', 'lifetime'] as const

const budgetPart: Part = {
  fields: {
    budgets: z
      .strictObject(
        Object.fromEntries(intervals.map((interval) => [interval, z.number().positive().optional()])),
      )
      .describe('US dollars in each interval. Those that are not named are deleted.'),
    include_byok_in_budgets: z.boolean().describe('Requires budgets.'),
  },
  operations: ['listWorkspaceBudgets', 'putWorkspaceBudget', 'deleteWorkspaceBudget'],
  kinds: [],
  read: async ({ api }, { id, record }) => {
    const { data } = await api.call('GET', `/workspaces/${id}/budgets`)
    const budgets = asObjects(data).map(({ reset_interval, limit_usd }) => [reset_interval, limit_usd])
    return {
      budgets: Object.fromEntries(budgets),
      ...(budgets.length > 0 && { include_byok_in_budgets: record.include_byok_in_budgets }),
    }
  },
  write: async ({ api }, { id, spec }, changed) => {
    const wanted = asObject(changed.budgets ?? spec.budgets) ?? {}
    const include = changed.include_byok_in_budgets
    for (const interval of intervals) {
      const path = `/workspaces/${id}/budgets/${interval}`
      if (wanted[interval] !== undefined)
        await api.call('PUT', path, {
          limit_usd: wanted[interval],
          ...(include !== undefined && { include_byok_in_budgets: include }),
        })
      else if (asObject(spec.budgets)?.[interval] !== undefined) await api.call('DELETE', path)
    }
  },
}

const memberPart: Part = {
  fields: {
    workspaces: z
      .array(z.string())
      .describe('The workspaces besides the default one, by slug. The member is removed from others.'),
    roles: z
      .array(z.strictObject({ role: z.string(), workspace: z.string().optional() }))
      .describe('Roles in addition, in the organization or in a workspace. Others are removed.'),
  },
  operations: [
    'addWorkspaceMembers',
    'removeWorkspaceMembers',
    'listWorkspaceMembers',
    'listMemberRoles',
    'assignMemberRole',
    'removeMemberRole',
  ],
  kinds: ['Workspace', 'Role'],
  read: async (context, { id }) => {
    const workspaces: string[] = []
    for (const workspace of context.records('Workspace').slice(1)) {
      const members = await listRecords(context.api, '/organization/members', {
        workspace_id: workspace.id,
        ids: id,
      })
      if (members.length > 0) workspaces.push(workspace.name)
    }
    const assigned = await listRecords(context.api, `/organization/members/${id}/roles`)
    const roles = assigned
      .filter(({ source }) => source === 'manual')
      .map(({ role_id, workspace_id }) => ({
        role: context.nameOf('Role', String(role_id), null),
        ...(typeof workspace_id === 'string' && {
          workspace: context.nameOf('Workspace', workspace_id, null),
        }),
      }))
    return { workspaces, roles }
  },
  write: async (context, item, changed) => {
    const { api } = context
    if (changed.workspaces) {
      const { added, removed } = compareNames(asNames(changed.workspaces), asNames(item.spec.workspaces))
      for (const id of idsOf(context, 'Workspace', added, null))
        await api.call('POST', `/workspaces/${id}/members/add`, { user_ids: [item.id] })
      for (const id of idsOf(context, 'Workspace', removed, null))
        await api.call('POST', `/workspaces/${id}/members/remove`, { user_ids: [item.id] })
    }
    if (!changed.roles) return
    const path = `/organization/members/${item.id}/roles`
    const wanted = asObjects(changed.roles).map(({ role, workspace }) => ({
      role_id: context.idOf('Role', String(role), null),
      workspace_id: typeof workspace === 'string' ? context.idOf('Workspace', workspace, null) : null,
    }))
    const present = (await listRecords(api, path)).filter(({ source }) => source === 'manual')
    const keyOf = ({ role_id, workspace_id }: Record<string, unknown>) => `${role_id} ${workspace_id}`
    const wantedKeys = new Set(wanted.map(keyOf))
    for (const one of present) if (!wantedKeys.has(keyOf(one))) await api.call('DELETE', `${path}/${one.id}`)
    const presentKeys = new Set(present.map(keyOf))
    for (const one of wanted) if (!presentKeys.has(keyOf(one))) await api.call('POST', path, one)
  },
}

export const workspaceKind = defineKind({
  kind: 'Workspace',
  description: 'A workspace, by its slug.',
  nameField: 'slug',
  path: '/workspaces',
  create: 'createWorkspace',
  update: 'updateWorkspace',
  remove: 'deleteWorkspace',
  secrets: ['video_callback_secret'],
  hiddenSecrets: ({ has_video_callback_secret }) =>
    has_video_callback_secret ? ['video_callback_secret'] : [],
  // Numbers of keys, which no other record has.
  omitted: ['io_logging_api_key_ids'],
  parts: [budgetPart],
})

export const roleKind = defineKind({
  kind: 'Role',
  description: 'A role of the organization.',
  path: '/roles',
  create: 'createRole',
  update: 'updateRole',
  remove: 'deleteRole',
  list: listPages('/roles', ({ is_built_in }) => is_built_in === false),
})

export const identityKinds: readonly Kind[] = [
  defineKind({
    kind: 'Member',
    description: 'A member of the organization, by the e-mail address.',
    nameField: 'email',
    path: '/organization/members',
    create: 'createOrganizationMember',
    update: 'updateOrganizationMember',
    remove: 'deleteOrganizationMember',
    list: async ({ api }) => {
      const members = (await listRecords(api, '/organization/members')).filter(({ email }) => email !== '')
      const details = []
      for (const { id } of members) details.push(await readRecord(api, `/organization/members/${id}`))
      return details
    },
    parts: [memberPart],
  }),
  defineKind({
    kind: 'Invitation',
    description: 'An invitation that is open, by the e-mail address.',
    nameField: 'email',
    path: '/organization/invitations',
    create: 'createInvitation',
    update: null,
    remove: 'deleteInvitation',
    list: listPages('/organization/invitations', ({ status }) => status === 'open'),
    references: [workspaceRef('workspaces', 'workspace_ids')],
    omitted: ['expires_in'],
    isReplaceable: true,
    returnsSecret: true,
  }),
  defineKind({
    kind: 'Key',
    description: 'An API key, without its secret.',
    place: 'workspace',
    idField: 'hash',
    path: '/keys',
    create: 'createKey',
    update: 'updateKey',
    remove: 'deleteKey',
    list: listDeclarableKeys,
    references: [memberRef('owner', 'creator_user_id')],
    omitted: ['external'],
    returnsSecret: true,
  }),
  defineKind({
    kind: 'ManagementKey',
    description: 'A management key, without its secret.',
    idField: 'hash',
    path: '/management-keys',
    create: 'createManagementKey',
    update: 'updateManagementKey',
    remove: 'deleteManagementKey',
    references: [workspaceRef('workspaces', 'workspace_ids')],
    returnsSecret: true,
  }),
]

/** Who can sign in, and what other identity providers may do. Their records name workspaces, roles, members and keys. */
export const signInKinds: readonly Kind[] = [
  defineKind({
    kind: 'SsoConnection',
    description: 'An OpenID Connect provider that members sign in with.',
    path: '/organization/sso/connections',
    create: 'createSsoConnection',
    update: 'updateSsoConnection',
    remove: 'deleteSsoConnection',
    references: [
      workspaceRef('mappings[].workspace'),
      { field: 'mappings[].role', apiField: 'role', kind: 'Role' },
      { field: 'default_role', apiField: 'default_role', kind: 'Role' },
    ],
    secrets: ['client_secret'],
  }),
  defineKind({
    kind: 'SsoDomain',
    description: 'An e-mail domain of the organization. It has no effect until it is verified.',
    nameField: 'domain',
    path: '/organization/sso/domains',
    create: 'createSsoDomain',
    update: null,
    remove: 'deleteSsoDomain',
    references: [{ field: 'connection', apiField: 'connection_id', kind: 'SsoConnection' }],
  }),
  defineKind({
    kind: 'SsoPolicy',
    description: 'Whether single sign-on is enforced, and who may sign in without it.',
    nameField: null,
    path: '/organization/sso',
    create: null,
    update: 'updateSsoPolicy',
    remove: null,
    list: async ({ api }) => [await readRecord(api, '/organization/sso')],
    references: [memberRef('break_glass_members', 'break_glass_user_ids')],
    isPermanent: true,
  }),
  defineKind({
    kind: 'ScimGroupMapping',
    description: 'Access of the members of a SCIM group to a workspace, by the display name of the group.',
    place: 'workspace',
    nameField: null,
    path: '/scim/group-mappings',
    create: 'createScimGroupMapping',
    update: 'updateScimGroupMapping',
    remove: 'deleteScimGroupMapping',
    otherOperations: ['listScimGroups'],
    list: async ({ api }) => {
      const groups = await listRecords(api, '/scim/groups')
      const names = new Map(groups.map(({ id, display_name }) => [id, display_name]))
      const mappings = await listRecords(api, '/scim/group-mappings')
      return mappings.map((mapping) => ({ ...mapping, group: names.get(mapping.scim_group_id) }))
    },
    inventName: ({ group, scim_group_id }) => asString(group) ?? String(scim_group_id),
    omitted: ['scim_group_id'],
    save: async (context, { id, name, workspace }, spec) => {
      const { api } = context
      if (id !== null) await api.call('PATCH', `/scim/group-mappings/${id}`, spec)
      if (id !== null) return id
      const groups = await listRecords(api, '/scim/groups')
      const group = groups.find(({ display_name }) => display_name === name)
      const { data } = await api.call('POST', '/scim/group-mappings', {
        ...spec,
        scim_group_id: group?.id ?? name,
        workspace_id: context.idOf('Workspace', workspace ?? '', null),
      })
      return String(asObject(data)?.id)
    },
  }),
  defineKind({
    kind: 'WorkloadIssuer',
    description: 'An issuer whose tokens workloads exchange.',
    path: '/workload-identity/issuers',
    create: 'createWorkloadIssuer',
    update: 'updateWorkloadIssuer',
    remove: 'deleteWorkloadIssuer',
  }),
  defineKind({
    kind: 'WorkloadPolicy',
    description: 'Which tokens of an issuer are exchanged for access with which key.',
    path: '/workload-identity/policies',
    create: 'createWorkloadPolicy',
    update: 'updateWorkloadPolicy',
    remove: 'deleteWorkloadPolicy',
    references: [
      { field: 'issuer', apiField: 'issuer_id', kind: 'WorkloadIssuer' },
      keyRef('key', 'key_hash'),
    ],
  }),
]
