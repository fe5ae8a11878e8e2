import type { Member } from '../../account/members.ts'
import type { Db } from '../../db/db.ts'
import { fetchPage, type RowPage } from '../../db/page.ts'
import type { Pagination } from '../../lib/query-params.ts'

export async function listMembers(
  db: Db,
  organizationId: string,
  page: Pagination,
): Promise<RowPage<Member>> {
  const all = db.selectFrom('members').where('organization_id', '=', organizationId)
  return fetchPage(all.selectAll(), page)
}
