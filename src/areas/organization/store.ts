import type { Member } from '../../account/members.ts'
import type { Db } from '../../db/db.ts'
import { fetchPage, type RowPage } from '../../db/page.ts'
import type { Pagination } from '../../lib/query-params.ts'

/** Those of the given workspaces, or all if `workspaceIds` is null. */
export async function listMembers(
  db: Db,
  organizationId: string,
  workspaceIds: readonly string[] | null,
  page: Pagination,
): Promise<RowPage<Member>> {
  let all = db.selectFrom('members').where('organization_id', '=', organizationId)
  if (workspaceIds) {
    const ids = db.selectFrom('workspace_members').select('user_id').where('workspace_id', 'in', workspaceIds)
    all = all.where('id', 'in', ids)
  }
  return fetchPage(all.selectAll(), page)
}
