import type { Member } from '../../account/members.ts'
import type { Db } from '../../db/db.ts'
import { pageOf, type Rows } from '../../db/page.ts'
import type { Page } from '../../lib/page.ts'

export async function listMembers(db: Db, organizationId: string, page: Page): Promise<Rows<Member>> {
  const all = db.selectFrom('members').where('organization_id', '=', organizationId)
  return pageOf(all.selectAll(), page)
}
