import { z } from 'zod'
import { asString, type JsonObject } from '../../platform/json/json-values.ts'
import { ApiError, listRecords, readRecord } from './client.ts'
import {
  asNames,
  compareNames,
  defineKind,
  idsOf,
  keyRef,
  listPages,
  listWhole,
  memberRef,
  workspaceRef,
} from './define-kind.ts'
import type { Kind, KindContext, Part } from './kind.ts'

const assignmentPart: Part = {
  fields: {
    keys: z.array(z.string()).describe('The keys it is assigned to. It is removed from others.'),
    members: z
      .array(z.string())
      .describe('The members it is assigned to, by e-mail address. It is removed from others.'),
  },
  operations: [
    'listGuardrailKeys',
    'assignGuardrailKeys',
    'unassignGuardrailKeys',
    'listGuardrailMembers',
    'assignGuardrailMembers',
    'unassignGuardrailMembers',
  ],
  kinds: ['Key', 'Member'],
  read: async (context, { id, workspace }) => {
    const { api } = context
    const keys = await listRecords(api, `/guardrails/${id}/assignments/keys`)
    const members = await listRecords(api, `/guardrails/${id}/assignments/members`)
    return {
      keys: keys.map(({ key_hash }) => context.nameOf('Key', String(key_hash), workspace)),
      members: members.map(({ user_id }) => context.nameOf('Member', String(user_id), workspace)),
    }
  },
  write: async (context, item, changed) => {
    const assign = async (field: 'keys' | 'members', kind: 'Key' | 'Member', apiField: string) => {
      if (!changed[field]) return
      const path = `/guardrails/${item.id}/assignments/${field}`
      const { added, removed } = compareNames(asNames(changed[field]), asNames(item.spec[field]))
      const [addedIds, removedIds] = [added, removed].map((names) =>
        idsOf(context, kind, names, item.workspace),
      )
      if (removedIds?.length) await context.api.call('POST', `${path}/remove`, { [apiField]: removedIds })
      if (addedIds?.length) await context.api.call('POST', path, { [apiField]: addedIds })
    }
    await assign('keys', 'Key', 'key_hashes')
    await assign('members', 'Member', 'member_user_ids')
  },
}

/** The guardrails that exist without being created, as they are before they are stored, too. */
async function listDefaultGuardrails(context: KindContext): Promise<JsonObject[]> {
  const { guardrail_id } = await readRecord(context.api, '/organization/privacy')
  const places = [
    { id: String(guardrail_id), place: 'organization' },
    ...context
      .records('Workspace')
      .map(({ record, name }) => ({ id: String(record.default_guardrail_id), place: name })),
  ]
  const records: JsonObject[] = []
  for (const { id, place } of places) records.push({ ...(await readGuardrail(context, id)), id, place })
  return records
}

async function readGuardrail({ api }: KindContext, id: string): Promise<JsonObject> {
  try {
    return await readRecord(api, `/guardrails/${id}`)
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return {}
    throw error
  }
}

export const policyKinds: readonly Kind[] = [
  defineKind({
    kind: 'Guardrail',
    description: 'A guardrail, and the keys and members it is assigned to.',
    place: 'workspace',
    path: '/guardrails',
    create: 'createGuardrail',
    update: 'updateGuardrail',
    remove: 'deleteGuardrail',
    list: async (context) => {
      const defaults = new Set(context.records('Workspace').map(({ record }) => record.default_guardrail_id))
      const lists: JsonObject[][] = []
      for (const { id } of context.records('Workspace'))
        lists.push(await listRecords(context.api, '/guardrails', { workspace_id: id }))
      return lists.flat().filter(({ id, scope }) => scope === 'workspace' && !defaults.has(String(id)))
    },
    parts: [assignmentPart],
  }),
  defineKind({
    kind: 'DefaultGuardrail',
    description:
      'The guardrail of everything in a workspace, by its slug, or in the organization, by the name `organization`.',
    nameField: null,
    path: '/guardrails',
    create: null,
    update: 'updateGuardrail',
    remove: 'deleteGuardrail',
    list: listDefaultGuardrails,
    inventName: ({ place }) => String(place),
    omitted: ['name'],
    save: async (context, { id, name }, spec) => {
      const workspaceId = id === null ? context.idOf('Workspace', name, null) : null
      const workspace = context.records('Workspace').find((item) => item.id === workspaceId)
      const guardrailId = id ?? String(workspace?.record.default_guardrail_id)
      await context.api.call('PATCH', `/guardrails/${guardrailId}`, spec)
      return guardrailId
    },
    isPermanent: true,
  }),
  defineKind({
    kind: 'AllowedPhrase',
    description: 'A phrase that is no prompt injection.',
    nameField: 'phrase',
    path: '/guardrails/allowed-phrases',
    create: 'createAllowedPhrase',
    update: null,
    remove: 'deleteAllowedPhrase',
    list: listWhole('/guardrails/allowed-phrases'),
  }),
  defineKind({
    kind: 'PrivacySettings',
    description:
      'Whether the privacy settings are locked. The settings themselves are those of the DefaultGuardrail `organization`.',
    nameField: null,
    path: '/organization/privacy',
    create: null,
    update: 'updatePrivacySettings',
    remove: null,
    list: async ({ api }) => [await readRecord(api, '/organization/privacy')],
    fields: { locked: z.boolean() },
    isPermanent: true,
  }),
  defineKind({
    kind: 'DefaultPlugins',
    description: 'The default plugins of the organization.',
    nameField: null,
    path: '/organization/plugins',
    create: null,
    update: 'replaceDefaultPlugins',
    remove: null,
    list: async ({ api }) => [await readRecord(api, '/organization/plugins')],
    isPermanent: true,
    isOrdered: true,
  }),
  defineKind({
    kind: 'Limit',
    description: 'A limit on spending, requests, tokens or concurrent requests.',
    path: '/limits',
    create: 'createLimit',
    update: 'updateLimit',
    remove: 'deleteLimit',
    list: listPages('/limits', ({ source }) => source === 'limit'),
    references: [
      workspaceRef('match.workspace'),
      memberRef('match.member', 'user_id'),
      keyRef('match.key', 'key_hash'),
    ],
    isReplaceable: true,
  }),
  defineKind({
    kind: 'NotificationRule',
    description: 'What is notified, from which threshold, and where. Only the files know its name.',
    place: 'either',
    nameField: null,
    path: '/notifications/rules',
    create: 'createNotificationRule',
    update: 'updateNotificationRule',
    remove: 'deleteNotificationRule',
    inventName: ({ kind, threshold }) => `${kind}-${threshold}`,
    secrets: ['channels.webhook.secret'],
    isReplaceable: true,
  }),
  defineKind({
    kind: 'Destination',
    description: 'Where finished requests are reported to.',
    place: 'workspace',
    path: '/observability/destinations',
    create: 'createObservabilityDestination',
    update: 'updateObservabilityDestination',
    remove: 'deleteObservabilityDestination',
    references: [keyRef('keys', 'api_key_hashes')],
    // Which fields of `config` are secrets depends on the type: the API masks them.
    secrets: ['config.*', 'config.headers.*'],
  }),
  defineKind({
    kind: 'AuditDestination',
    description: 'Where the audit log is sent to.',
    path: '/audit/destinations',
    create: 'createAuditDestination',
    update: 'updateAuditDestination',
    remove: 'deleteAuditDestination',
    list: listWhole('/audit/destinations'),
    secrets: ['config.signing_secret'],
    hiddenSecrets: ({ is_signed }) => (is_signed ? ['config.signing_secret'] : []),
    omitted: ['from_seq'],
    isReplaceable: true,
  }),
  defineKind({
    kind: 'SavedView',
    description: 'A view of a screen of the console that is shared with the organization or a workspace.',
    place: 'either',
    path: '/saved-views',
    create: 'createSavedView',
    update: 'updateSavedView',
    remove: 'deleteSavedView',
    list: listPages('/saved-views', ({ visibility }) => visibility !== 'private'),
    toCreateBody: ({ workspace_id, ...body }) => ({
      ...body,
      ...(asString(workspace_id)
        ? { visibility: 'workspace', workspace_id }
        : { visibility: 'organization' }),
    }),
    omitted: ['visibility'],
    isReplaceable: true,
  }),
]
