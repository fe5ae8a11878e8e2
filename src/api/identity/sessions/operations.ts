import { z } from 'zod'
import type { Caller } from '../../../access/caller.ts'
import { transact } from '../../../access/transact.ts'
import type { RecordEvent } from '../../../governance/audit/transaction.ts'
import { defineOperation } from '../../../http/operation.ts'
import { displayNameOf, requireMember } from '../../../identity/members.ts'
import { deleteSessions, listSessions, type Session } from '../../../identity/sessions.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { getSession } from './identity.ts'
import { sessionRecord, toSessionRecord } from './record.ts'

const tag = 'Sessions'
const idParam = z.object({ id: z.string().min(1).max(256) })
const sessionList = z.strictObject({ data: z.array(sessionRecord) })
const deletedCount = z.strictObject({
  deleted: z.literal(true),
  count: z.int().describe('Sessions that ended.'),
})

const listOwnSessions = defineOperation({
  id: 'listSessions',
  method: 'GET',
  path: '/sessions',
  tag,
  summary: 'Lists the sessions of the member who is signed in, newest first.',
  permission: 'account:read',
  response: sessionList,
  handle: async ({ gateway, caller }) => {
    const sessions = await listSessions(gateway, userIdOf(caller))
    return { data: sessions.map((session) => toSessionRecord(gateway, session, currentIdOf(caller))) }
  },
})

const deleteOwnSession = defineOperation({
  id: 'deleteSession',
  method: 'DELETE',
  path: '/sessions/{id}',
  tag,
  summary: 'Ends a session of the member who is signed in. The current one: signs out.',
  permission: 'account:write',
  params: idParam,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: async (context) => {
    const { caller, params } = context
    const ended = await transact(context, async (tx, record) => {
      const sessions = await deleteSessions(tx, userIdOf(caller), { id: params.id })
      recordEnds(record, sessions)
      return sessions
    })
    if (ended.length === 0) throw gatewayError('not_found', 'The session does not exist.')
    return { deleted: true as const }
  },
})

const deleteOtherSessions = defineOperation({
  id: 'deleteOtherSessions',
  method: 'DELETE',
  path: '/sessions',
  tag,
  summary: 'Ends all sessions of the member who is signed in, except the current one.',
  permission: 'account:write',
  response: deletedCount,
  handle: async (context) => {
    const { caller } = context
    const ended = await transact(context, async (tx, record) => {
      const sessions = await deleteSessions(tx, userIdOf(caller), { exceptId: currentIdOf(caller) })
      recordEnds(record, sessions)
      return sessions
    })
    return { deleted: true as const, count: ended.length }
  },
})

const listMemberSessions = defineOperation({
  id: 'listMemberSessions',
  method: 'GET',
  path: '/organization/members/{id}/sessions',
  tag,
  summary: 'Lists the sessions of a member, newest first.',
  permission: 'sessions:read',
  params: idParam,
  errors: [404],
  response: sessionList,
  handle: async ({ gateway, caller, params }) => {
    const member = await requireMember(gateway.db, caller.organizationId, params.id)
    const sessions = await listSessions(gateway, member.id)
    return { data: sessions.map((session) => toSessionRecord(gateway, session, currentIdOf(caller))) }
  },
})

const deleteMemberSessions = defineOperation({
  id: 'deleteMemberSessions',
  method: 'DELETE',
  path: '/organization/members/{id}/sessions',
  tag,
  summary: 'Signs a member out everywhere.',
  permission: 'sessions:write',
  params: idParam,
  errors: [404],
  response: deletedCount,
  handle: async (context) => {
    const { caller, params } = context
    const ended = await transact(context, async (tx, record) => {
      const member = await requireMember(tx, caller.organizationId, params.id)
      const sessions = await deleteSessions(tx, member.id)
      recordEnds(record, sessions, displayNameOf(member))
      return sessions
    })
    return { deleted: true as const, count: ended.length }
  },
})

export const sessionOperations = [
  getSession,
  listOwnSessions,
  deleteOwnSession,
  deleteOtherSessions,
  listMemberSessions,
  deleteMemberSessions,
]

/** The id of the member: only members who are signed in have the permissions of their own account. */
function userIdOf({ userId }: Caller): string {
  return userId ?? ''
}

function currentIdOf({ session }: Caller): string | undefined {
  return session?.session.id
}

function recordEnds(record: RecordEvent, sessions: Session[], memberName: string | null = null): void {
  for (const { id } of sessions)
    record({ action: 'session.delete', target: { type: 'session', id, name: memberName } })
}
