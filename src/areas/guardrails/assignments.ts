import { z } from 'zod'
import type { Db } from '../../db/db.ts'
import { gatewayError, invalidFieldError } from '../../errors/gateway-error.ts'
import { defineOperation } from '../../http/operation.ts'
import { pageQuery } from '../../lib/query-params.ts'
import { isDefaultGuardrail } from '../../policy/default-guardrail.ts'
import type { GuardrailRow } from '../../policy/guardrail.ts'
import { idParam, lockGuardrail, requireGuardrail, tag } from './guardrail.ts'
import {
  assignKeys,
  assignMembers,
  type KeyAssignment,
  listKeyAssignments,
  listMemberAssignments,
  lockKeys,
  lockMembers,
  type MemberAssignment,
  unassignKeys,
  unassignMembers,
} from './store.ts'

const keyAssignment = z
  .strictObject({
    id: z.uuid(),
    key_hash: z.string(),
    key_name: z.string(),
    key_label: z.string(),
    guardrail_id: z.uuid(),
    assigned_by: z.string().nullable(),
    created_at: z.string(),
  })
  .meta({ id: 'GuardrailKeyAssignment' })

const memberAssignment = z
  .strictObject({
    id: z.uuid(),
    user_id: z.string(),
    organization_id: z.string(),
    guardrail_id: z.uuid(),
    assigned_by: z.string().nullable(),
    created_at: z.string(),
  })
  .meta({ id: 'GuardrailMemberAssignment' })

const names = z
  .array(z.string().min(1).max(256))
  .min(1)
  .max(1000)
  .transform((list) => [...new Set(list)])
const keysBody = z.strictObject({ key_hashes: names })
const membersBody = z.strictObject({ member_user_ids: names })

const keyPage = z.strictObject({ data: z.array(keyAssignment), total_count: z.int() })
const memberPage = z.strictObject({ data: z.array(memberAssignment), total_count: z.int() })
const assignedResponse = z.strictObject({
  assigned_count: z.int().describe('The number of keys or members that now have this guardrail.'),
})
const unassignedResponse = z.strictObject({
  unassigned_count: z.int().describe('The number of keys or members that had this guardrail.'),
})

const listGuardrailKeyAssignments = defineOperation({
  id: 'listGuardrailKeyAssignments',
  method: 'GET',
  path: '/guardrails/assignments/keys',
  tag,
  summary: 'Lists the guardrail assignments of all keys of the organization.',
  access: 'management',
  query: pageQuery,
  response: keyPage,
  handle: async ({ gateway, caller, query }) => {
    const scope = { organizationId: caller.organizationId }
    const { rows, total } = await listKeyAssignments(gateway.db, scope, query)
    return { data: rows.map(toKeyAssignment), total_count: total }
  },
})

const listGuardrailMemberAssignments = defineOperation({
  id: 'listGuardrailMemberAssignments',
  method: 'GET',
  path: '/guardrails/assignments/members',
  tag,
  summary: 'Lists the guardrail assignments of all members of the organization.',
  access: 'management',
  query: pageQuery,
  response: memberPage,
  handle: async ({ gateway, caller, query }) => {
    const scope = { organizationId: caller.organizationId }
    const { rows, total } = await listMemberAssignments(gateway.db, scope, query)
    return { data: rows.map(toMemberAssignment), total_count: total }
  },
})

const listGuardrailKeys = defineOperation({
  id: 'listGuardrailKeys',
  method: 'GET',
  path: '/guardrails/{id}/assignments/keys',
  tag,
  summary: 'Lists the keys a guardrail is assigned to.',
  access: 'management',
  params: idParam,
  query: pageQuery,
  errors: [404],
  response: keyPage,
  handle: async ({ gateway, caller, params, query }) => {
    const { id } = await requireGuardrail(gateway.db, caller.organizationId, params.id)
    const scope = { organizationId: caller.organizationId, guardrailId: id }
    const { rows, total } = await listKeyAssignments(gateway.db, scope, query)
    return { data: rows.map(toKeyAssignment), total_count: total }
  },
})

const listGuardrailMembers = defineOperation({
  id: 'listGuardrailMembers',
  method: 'GET',
  path: '/guardrails/{id}/assignments/members',
  tag,
  summary: 'Lists the members a guardrail is assigned to.',
  access: 'management',
  params: idParam,
  query: pageQuery,
  errors: [404],
  response: memberPage,
  handle: async ({ gateway, caller, params, query }) => {
    const { id } = await requireGuardrail(gateway.db, caller.organizationId, params.id)
    const scope = { organizationId: caller.organizationId, guardrailId: id }
    const { rows, total } = await listMemberAssignments(gateway.db, scope, query)
    return { data: rows.map(toMemberAssignment), total_count: total }
  },
})

const assignGuardrailKeys = defineOperation({
  id: 'assignGuardrailKeys',
  method: 'POST',
  path: '/guardrails/{id}/assignments/keys',
  tag,
  summary: 'Assigns a guardrail to keys of its workspace, replacing their previous one.',
  access: 'management',
  params: idParam,
  body: keysBody,
  errors: [404],
  response: assignedResponse,
  handle: ({ gateway, caller, params, body }) =>
    gateway.db.transaction().execute(async (tx) => {
      const guardrail = await lockGuardrail(tx, caller.organizationId, params.id)
      rejectDefaultGuardrail(guardrail)
      const ids = await requireKeys(tx, guardrail, body.key_hashes)
      await assignKeys(tx, gateway.clock, { guardrail, by: caller.userId }, ids)
      return { assigned_count: ids.length }
    }),
})

const assignGuardrailMembers = defineOperation({
  id: 'assignGuardrailMembers',
  method: 'POST',
  path: '/guardrails/{id}/assignments/members',
  tag,
  summary: 'Assigns a guardrail to members. It applies to their keys in its workspace.',
  access: 'management',
  params: idParam,
  body: membersBody,
  errors: [404],
  response: assignedResponse,
  handle: ({ gateway, caller, params, body }) =>
    gateway.db.transaction().execute(async (tx) => {
      const guardrail = await lockGuardrail(tx, caller.organizationId, params.id)
      rejectDefaultGuardrail(guardrail)
      const ids = await lockMembers(tx, caller.organizationId, body.member_user_ids)
      rejectUnknown('member_user_ids', body.member_user_ids, ids)
      await assignMembers(tx, gateway.clock, { guardrail, by: caller.userId }, ids)
      return { assigned_count: ids.length }
    }),
})

const unassignGuardrailKeys = defineOperation({
  id: 'unassignGuardrailKeys',
  method: 'POST',
  path: '/guardrails/{id}/assignments/keys/remove',
  tag,
  summary: 'Removes a guardrail from keys. Keys that do not have it are ignored.',
  access: 'management',
  params: idParam,
  body: keysBody,
  errors: [404],
  response: unassignedResponse,
  handle: ({ gateway, caller, params, body }) =>
    gateway.db.transaction().execute(async (tx) => {
      const guardrail = await lockGuardrail(tx, caller.organizationId, params.id)
      return { unassigned_count: await unassignKeys(tx, guardrail, body.key_hashes) }
    }),
})

const unassignGuardrailMembers = defineOperation({
  id: 'unassignGuardrailMembers',
  method: 'POST',
  path: '/guardrails/{id}/assignments/members/remove',
  tag,
  summary: 'Removes a guardrail from members. Members who do not have it are ignored.',
  access: 'management',
  params: idParam,
  body: membersBody,
  errors: [404],
  response: unassignedResponse,
  handle: ({ gateway, caller, params, body }) =>
    gateway.db.transaction().execute(async (tx) => {
      const guardrail = await lockGuardrail(tx, caller.organizationId, params.id)
      return { unassigned_count: await unassignMembers(tx, guardrail, body.member_user_ids) }
    }),
})

export const assignmentOperations = [
  listGuardrailKeyAssignments,
  listGuardrailMemberAssignments,
  listGuardrailKeys,
  assignGuardrailKeys,
  unassignGuardrailKeys,
  listGuardrailMembers,
  assignGuardrailMembers,
  unassignGuardrailMembers,
]

function rejectDefaultGuardrail(guardrail: GuardrailRow): void {
  if (isDefaultGuardrail(guardrail)) {
    throw gatewayError('invalid_request', 'A default guardrail applies automatically and cannot be assigned.')
  }
}

async function requireKeys(tx: Db, guardrail: GuardrailRow, hashes: string[]): Promise<number[]> {
  const keys = await lockKeys(tx, guardrail.organization_id, hashes)
  rejectUnknown(
    'key_hashes',
    hashes,
    keys.map((key) => key.hash),
  )
  const inOtherWorkspace = keys.filter((key) => key.workspace_id !== guardrail.workspace_id)
  if (inOtherWorkspace.length > 0) {
    throw invalidFieldError(
      'key_hashes',
      `not in the workspace of the guardrail: ${formatList(inOtherWorkspace.map((key) => key.hash))}`,
    )
  }
  return keys.map((key) => key.id)
}

function rejectUnknown(field: string, requested: string[], existing: string[]): void {
  const known = new Set(existing)
  const unknown = requested.filter((name) => !known.has(name))
  if (unknown.length > 0) {
    throw gatewayError('not_found', `${field}: not in the organization: ${formatList(unknown)}.`)
  }
}

/** Truncates the list, so that the message stays readable. */
function formatList(names: string[]): string {
  const shown = names.slice(0, 10).join(', ')
  return names.length > 10 ? `${shown} and ${names.length - 10} more` : shown
}

function toKeyAssignment(row: KeyAssignment): z.input<typeof keyAssignment> {
  return {
    id: row.id,
    key_hash: row.key_hash,
    key_name: row.key_name,
    key_label: row.key_label,
    guardrail_id: row.guardrail_id,
    assigned_by: row.assigned_by,
    created_at: row.created_at,
  }
}

function toMemberAssignment(row: MemberAssignment): z.input<typeof memberAssignment> {
  return {
    id: row.id,
    user_id: row.user_id,
    organization_id: row.organization_id,
    guardrail_id: row.guardrail_id,
    assigned_by: row.assigned_by,
    created_at: row.created_at,
  }
}
