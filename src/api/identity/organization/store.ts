import type { Member } from '../../../identity/members.ts'
import { containsText } from '../../../platform/db/contains-text.ts'
import type { Db } from '../../../platform/db/db.ts'
import { fetchPage, type RowPage } from '../../../platform/db/page.ts'
import type { Pagination } from '../../../platform/validation/query-params.ts'

interface MemberFilter {
  /** Workspaces whose members are selected; null: all members of the organization. */
  workspaceIds: readonly string[] | null
  ids: readonly string[] | undefined
  /** Text to find in the name, address or id. */
  text: string | undefined
  role: Member['role'] | undefined
}

export async function listMembers(
  db: Db,
  organizationId: string,
  { workspaceIds, ids, text, role }: MemberFilter,
  page: Pagination,
): Promise<RowPage<Member>> {
  let all = db.selectFrom('members').where('organization_id', '=', organizationId)
  if (workspaceIds) {
    const userIds = db
      .selectFrom('workspace_members')
      .select('user_id')
      .where('workspace_id', 'in', workspaceIds)
    all = all.where('id', 'in', userIds)
  }
  if (role !== undefined) all = all.where('role', '=', role)
  if (ids) all = all.where('id', 'in', ids)
  if (text !== undefined) all = all.where(containsText(['first_name', 'last_name', 'email', 'id'], text))
  return fetchPage(all.selectAll(), page)
}
