import type { Member } from '../../account/members.ts'
import { containsText } from '../../db/contains-text.ts'
import type { Db } from '../../db/db.ts'
import { fetchPage, type RowPage } from '../../db/page.ts'
import type { Pagination } from '../../lib/query-params.ts'

/** Those of the given workspaces, or all if `workspaceIds` is null; with this text in their name or address. */
export async function listMembers(
  db: Db,
  organizationId: string,
  { workspaceIds, text }: { workspaceIds: readonly string[] | null; text: string | undefined },
  page: Pagination,
): Promise<RowPage<Member>> {
  let all = db.selectFrom('members').where('organization_id', '=', organizationId)
  if (workspaceIds) {
    const ids = db.selectFrom('workspace_members').select('user_id').where('workspace_id', 'in', workspaceIds)
    all = all.where('id', 'in', ids)
  }
  if (text !== undefined) all = all.where(containsText(['first_name', 'last_name', 'email', 'id'], text))
  return fetchPage(all.selectAll(), page)
}
