import { z } from 'zod'
import type { Db } from '../../db/db.ts'
import { badField, fail } from '../../errors.ts'
import { pageQuery } from '../../lib/page.ts'
import { operation } from '../../operation.ts'
import { isStanding } from '../../policy/default-guardrail.ts'
import type { GuardrailRow } from '../../policy/guardrail.ts'
import { enterGuardrail, idParam, requireGuardrail, tag } from './guardrail.ts'
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
const assigned = z.strictObject({ assigned_count: z.int().describe('How many now have this guardrail') })
const unassigned = z.strictObject({ unassigned_count: z.int().describe('How many had this guardrail') })

const listAllKeys = operation({
  id: 'listGuardrailKeyAssignments',
  method: 'GET',
  path: '/guardrails/assignments/keys',
  tag,
  summary: 'List which keys of the organization have which guardrail',
  access: 'management',
  query: pageQuery,
  response: keyPage,
  handle: async ({ gateway, caller, query }) => {
    const scope = { organizationId: caller.organizationId }
    const { rows, total } = await listKeyAssignments(gateway.db, scope, query)
    return { data: rows.map(keyAssignmentOf), total_count: total }
  },
})

const listAllMembers = operation({
  id: 'listGuardrailMemberAssignments',
  method: 'GET',
  path: '/guardrails/assignments/members',
  tag,
  summary: 'List which members of the organization have which guardrail',
  access: 'management',
  query: pageQuery,
  response: memberPage,
  handle: async ({ gateway, caller, query }) => {
    const scope = { organizationId: caller.organizationId }
    const { rows, total } = await listMemberAssignments(gateway.db, scope, query)
    return { data: rows.map(memberAssignmentOf), total_count: total }
  },
})

const listKeys = operation({
  id: 'listGuardrailKeys',
  method: 'GET',
  path: '/guardrails/{id}/assignments/keys',
  tag,
  summary: 'List the keys a guardrail is assigned to',
  access: 'management',
  params: idParam,
  query: pageQuery,
  errors: [404],
  response: keyPage,
  handle: async ({ gateway, caller, params, query }) => {
    const { id } = await requireGuardrail(gateway.db, caller.organizationId, params.id)
    const scope = { organizationId: caller.organizationId, guardrailId: id }
    const { rows, total } = await listKeyAssignments(gateway.db, scope, query)
    return { data: rows.map(keyAssignmentOf), total_count: total }
  },
})

const listMembers = operation({
  id: 'listGuardrailMembers',
  method: 'GET',
  path: '/guardrails/{id}/assignments/members',
  tag,
  summary: 'List the members a guardrail is assigned to',
  access: 'management',
  params: idParam,
  query: pageQuery,
  errors: [404],
  response: memberPage,
  handle: async ({ gateway, caller, params, query }) => {
    const { id } = await requireGuardrail(gateway.db, caller.organizationId, params.id)
    const scope = { organizationId: caller.organizationId, guardrailId: id }
    const { rows, total } = await listMemberAssignments(gateway.db, scope, query)
    return { data: rows.map(memberAssignmentOf), total_count: total }
  },
})

const addKeys = operation({
  id: 'assignGuardrailKeys',
  method: 'POST',
  path: '/guardrails/{id}/assignments/keys',
  tag,
  summary: 'Assign a guardrail to keys of its workspace, in the place of any they had',
  access: 'management',
  params: idParam,
  body: keysBody,
  errors: [404],
  response: assigned,
  handle: ({ gateway, caller, params, body }) =>
    gateway.db.transaction().execute(async (tx) => {
      const guardrail = await enterGuardrail(tx, caller.organizationId, params.id)
      refuseStanding(guardrail)
      const ids = await requireKeys(tx, guardrail, body.key_hashes)
      await assignKeys(tx, gateway.clock, { guardrail, by: caller.userId }, ids)
      return { assigned_count: ids.length }
    }),
})

const addMembers = operation({
  id: 'assignGuardrailMembers',
  method: 'POST',
  path: '/guardrails/{id}/assignments/members',
  tag,
  summary: 'Assign a guardrail to members: it applies to their keys in its workspace',
  access: 'management',
  params: idParam,
  body: membersBody,
  errors: [404],
  response: assigned,
  handle: ({ gateway, caller, params, body }) =>
    gateway.db.transaction().execute(async (tx) => {
      const guardrail = await enterGuardrail(tx, caller.organizationId, params.id)
      refuseStanding(guardrail)
      const ids = await lockMembers(tx, caller.organizationId, body.member_user_ids)
      refuseUnknown('member_user_ids', body.member_user_ids, ids)
      await assignMembers(tx, gateway.clock, { guardrail, by: caller.userId }, ids)
      return { assigned_count: ids.length }
    }),
})

const removeKeys = operation({
  id: 'unassignGuardrailKeys',
  method: 'POST',
  path: '/guardrails/{id}/assignments/keys/remove',
  tag,
  summary: 'Take a guardrail off keys; those that do not have it are passed over',
  access: 'management',
  params: idParam,
  body: keysBody,
  errors: [404],
  response: unassigned,
  handle: ({ gateway, caller, params, body }) =>
    gateway.db.transaction().execute(async (tx) => {
      const guardrail = await enterGuardrail(tx, caller.organizationId, params.id)
      return { unassigned_count: await unassignKeys(tx, guardrail, body.key_hashes) }
    }),
})

const removeMembers = operation({
  id: 'unassignGuardrailMembers',
  method: 'POST',
  path: '/guardrails/{id}/assignments/members/remove',
  tag,
  summary: 'Take a guardrail off members; those that do not have it are passed over',
  access: 'management',
  params: idParam,
  body: membersBody,
  errors: [404],
  response: unassigned,
  handle: ({ gateway, caller, params, body }) =>
    gateway.db.transaction().execute(async (tx) => {
      const guardrail = await enterGuardrail(tx, caller.organizationId, params.id)
      return { unassigned_count: await unassignMembers(tx, guardrail, body.member_user_ids) }
    }),
})

export const assignmentOperations = [
  listAllKeys,
  listAllMembers,
  listKeys,
  addKeys,
  removeKeys,
  listMembers,
  addMembers,
  removeMembers,
]

function refuseStanding(guardrail: GuardrailRow): void {
  if (isStanding(guardrail)) {
    throw fail('invalid_request', 'A default guardrail applies by itself: it is not assigned.')
  }
}

async function requireKeys(tx: Db, guardrail: GuardrailRow, hashes: string[]): Promise<number[]> {
  const keys = await lockKeys(tx, guardrail.organization_id, hashes)
  refuseUnknown(
    'key_hashes',
    hashes,
    keys.map((key) => key.hash),
  )
  const elsewhere = keys.filter((key) => key.workspace_id !== guardrail.workspace_id)
  if (elsewhere.length > 0) {
    throw badField(
      'key_hashes',
      `not in the workspace of the guardrail: ${listed(elsewhere.map((key) => key.hash))}`,
    )
  }
  return keys.map((key) => key.id)
}

function refuseUnknown(field: string, wanted: string[], found: string[]): void {
  const known = new Set(found)
  const unknown = wanted.filter((name) => !known.has(name))
  if (unknown.length > 0) {
    throw fail('not_found', `${field}: not in the organization: ${listed(unknown)}.`)
  }
}

/** A thousand names would bury the message. */
function listed(names: string[]): string {
  const shown = names.slice(0, 10).join(', ')
  return names.length > 10 ? `${shown} and ${names.length - 10} more` : shown
}

function keyAssignmentOf(row: KeyAssignment): z.input<typeof keyAssignment> {
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

function memberAssignmentOf(row: MemberAssignment): z.input<typeof memberAssignment> {
  return {
    id: row.id,
    user_id: row.user_id,
    organization_id: row.organization_id,
    guardrail_id: row.guardrail_id,
    assigned_by: row.assigned_by,
    created_at: row.created_at,
  }
}
