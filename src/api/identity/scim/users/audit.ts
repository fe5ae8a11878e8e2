import { isDeepStrictEqual } from 'node:util'
import type { AuditEvent, AuditRecord } from '../../../../governance/audit/entry.ts'
import type { UserRow } from './store.ts'

/** The event of a change to a user, who is a member; null if nothing changed. */
export function describeUserChange(
  before: UserRow | null,
  after: UserRow | null,
  verb = verbOf(before, after),
): AuditEvent | null {
  const row = after ?? before
  if (!row || (before && after && isDeepStrictEqual(withoutTime(before), withoutTime(after)))) return null
  return {
    action: `member.${verb}`,
    target: { type: 'member', id: row.user_id, name: row.user_name },
    before: before && toAuditRecord(before),
    after: after && toAuditRecord(after),
  }
}

function verbOf(before: UserRow | null, after: UserRow | null): string {
  if (!before) return 'create'
  if (!after) return 'delete'
  if (before.active === after.active) return 'update'
  return after.active === 1 ? 'activate' : 'deactivate'
}

function withoutTime({ updated_at: _time, ...row }: UserRow) {
  return row
}

/** The other attributes can be anything that the identity provider knows about a person. */
function toAuditRecord({
  user_name,
  external_id,
  email,
  first_name,
  last_name,
  active,
}: UserRow): AuditRecord {
  return { user_name, external_id, email, first_name, last_name, active }
}
