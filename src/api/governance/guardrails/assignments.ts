import { z } from 'zod'
import { resolveCoveredWorkspaces } from '../../../access/reachable-workspace.ts'
import { transact } from '../../../access/transact.ts'
import { isDefaultGuardrail } from '../../../governance/policy/default-guardrail.ts'
import type { GuardrailRow } from '../../../governance/policy/guardrail.ts'
import { defineOperation } from '../../../http/operation.ts'
import { splitIntoChunks } from '../../../identity/scim-grants.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { RowPage } from '../../../platform/db/page.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { type Pagination, pageQuery } from '../../../platform/validation/query-params.ts'
import { describeGuardrail, idParam, lockGuardrail, requireGuardrail, tag } from './guardrail.ts'
import {
  type AssignmentScope,
  type AssignmentTable,
  assignGuardrail,
  type KeyAssignment,
  keyAssignments,
  listKeyAssignments,
  listMemberAssignments,
  lockKeys,
  lockMembers,
  type MemberAssignment,
  memberAssignments,
  unassignGuardrail,
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

const assignedResponse = z.strictObject({
  assigned_count: z.int().describe('The number of keys or members that now have this guardrail.'),
})
const unassignedResponse = z.strictObject({
  unassigned_count: z.int().describe('The number of keys or members that had this guardrail.'),
})

/** Differences between the assignments of keys and of members. */
interface Assignees<Row, Assignment, Body> {
  plural: 'keys' | 'members'
  ids: { listAll: string; list: string; assign: string; unassign: string }
  summaries: { assign: string; unassign: string }
  record: z.ZodType<unknown, Assignment>
  toRecord(row: Row): Assignment
  body: z.ZodType<Body>
  namesOf(body: Body): string[]
  table: AssignmentTable
  list(db: Db, scope: AssignmentScope, page: Pagination): Promise<RowPage<Row>>
  /** Locks the named keys or members; throws if one is unknown. */
  requireIds(tx: Db, guardrail: GuardrailRow, names: string[]): Promise<(number | string)[]>
}

/** Number of names that fit into a value of the audit log. */
const namesPerEvent = 25

const reading = { tag, permission: 'guardrails:read' } as const
const writing = { tag, permission: 'guardrails:write' } as const

function defineLists<Row, Assignment, Body>(assignees: Assignees<Row, Assignment, Body>) {
  const { plural, ids, record, toRecord, list } = assignees
  const response = z.strictObject({ data: z.array(record), total_count: z.int() })
  const listPage = async (db: Db, scope: AssignmentScope, page: Pagination) => {
    const { rows, total } = await list(db, scope, page)
    return { data: rows.map(toRecord), total_count: total }
  }
  const listAll = defineOperation({
    ...reading,
    id: ids.listAll,
    method: 'GET',
    path: `/guardrails/assignments/${plural}`,
    summary: `Lists the guardrail assignments of all ${plural} in the workspaces of the caller.`,
    query: pageQuery,
    response,
    handle: async (context) => {
      const { gateway, caller, query } = context
      const workspaceIds = await resolveCoveredWorkspaces(gateway.db, context, undefined)
      return listPage(gateway.db, { organizationId: caller.organizationId, workspaceIds }, query)
    },
  })
  const listOne = defineOperation({
    ...reading,
    id: ids.list,
    method: 'GET',
    path: `/guardrails/{id}/assignments/${plural}`,
    summary: `Lists the ${plural} a guardrail is assigned to.`,
    params: idParam,
    query: pageQuery,
    errors: [404],
    response,
    handle: async (context) => {
      const { gateway, caller, query } = context
      const { id: guardrailId } = await requireGuardrail(gateway.db, context)
      return listPage(gateway.db, { organizationId: caller.organizationId, guardrailId }, query)
    },
  })
  return { listAll, listOne }
}

function defineChanges<Row, Assignment, Body>(assignees: Assignees<Row, Assignment, Body>) {
  const { plural, ids, summaries, namesOf, table, requireIds } = assignees
  const assign = defineOperation({
    ...writing,
    id: ids.assign,
    method: 'POST',
    path: `/guardrails/{id}/assignments/${plural}`,
    summary: summaries.assign,
    params: idParam,
    body: assignees.body,
    errors: [404],
    response: assignedResponse,
    handle: (context) =>
      transact(context, async (tx, record) => {
        const { gateway, caller, body } = context
        const guardrail = await lockGuardrail(tx, context)
        rejectDefaultGuardrail(guardrail)
        const assigneeIds = await requireIds(tx, guardrail, namesOf(body))
        const assignments = { guardrail, by: caller.userId, ids: assigneeIds }
        await assignGuardrail(tx, gateway.clock, table, assignments)
        for (const named of splitIntoChunks(namesOf(body), namesPerEvent))
          record({
            action: 'guardrail.assign',
            ...describeGuardrail(guardrail),
            details: { [plural]: named },
          })
        return { assigned_count: assigneeIds.length }
      }),
  })
  const unassign = defineOperation({
    ...writing,
    id: ids.unassign,
    method: 'POST',
    path: `/guardrails/{id}/assignments/${plural}/remove`,
    summary: summaries.unassign,
    params: idParam,
    body: assignees.body,
    errors: [404],
    response: unassignedResponse,
    handle: (context) =>
      transact(context, async (tx, record) => {
        const names = namesOf(context.body)
        const guardrail = await lockGuardrail(tx, context)
        const count = await unassignGuardrail(tx, table, guardrail, names)
        for (const named of count === 0 ? [] : splitIntoChunks(names, namesPerEvent))
          record({
            action: 'guardrail.unassign',
            ...describeGuardrail(guardrail),
            details: { [plural]: named },
          })
        return { unassigned_count: count }
      }),
  })
  return [assign, unassign]
}

const keys: Assignees<KeyAssignment, z.input<typeof keyAssignment>, { key_hashes: string[] }> = {
  plural: 'keys',
  ids: {
    listAll: 'listGuardrailKeyAssignments',
    list: 'listGuardrailKeys',
    assign: 'assignGuardrailKeys',
    unassign: 'unassignGuardrailKeys',
  },
  summaries: {
    assign: 'Assigns a guardrail to keys of its workspace, replacing their previous one.',
    unassign: 'Removes a guardrail from keys. Keys that do not have it are ignored.',
  },
  record: keyAssignment,
  toRecord: toKeyAssignment,
  body: z.strictObject({ key_hashes: names }),
  namesOf: (body) => body.key_hashes,
  table: keyAssignments,
  list: listKeyAssignments,
  requireIds: requireKeys,
}

const members: Assignees<
  MemberAssignment,
  z.input<typeof memberAssignment>,
  { member_user_ids: string[] }
> = {
  plural: 'members',
  ids: {
    listAll: 'listGuardrailMemberAssignments',
    list: 'listGuardrailMembers',
    assign: 'assignGuardrailMembers',
    unassign: 'unassignGuardrailMembers',
  },
  summaries: {
    assign: 'Assigns a guardrail to members. It applies to their keys in its workspace.',
    unassign: 'Removes a guardrail from members. Members who do not have it are ignored.',
  },
  record: memberAssignment,
  toRecord: toMemberAssignment,
  body: z.strictObject({ member_user_ids: names }),
  namesOf: (body) => body.member_user_ids,
  table: memberAssignments,
  list: listMemberAssignments,
  requireIds: requireMembers,
}

const [keyLists, memberLists] = [defineLists(keys), defineLists(members)]

export const assignmentOperations = [
  keyLists.listAll,
  memberLists.listAll,
  keyLists.listOne,
  ...defineChanges(keys),
  memberLists.listOne,
  ...defineChanges(members),
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

async function requireMembers(tx: Db, guardrail: GuardrailRow, userIds: string[]): Promise<string[]> {
  const ids = await lockMembers(tx, guardrail.organization_id, userIds)
  rejectUnknown('member_user_ids', userIds, ids)
  return ids
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
