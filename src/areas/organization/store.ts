import type { Member } from '../../account/members.ts'
import type { Db } from '../../db/db.ts'
import type { Page } from '../../lib/page.ts'

export async function listMembers(
  db: Db,
  organizationId: string,
  page: Page,
): Promise<{ members: Member[]; total: number }> {
  const all = db.selectFrom('members').where('organization_id', '=', organizationId)
  const members = await all
    .selectAll()
    .orderBy('created_at')
    .orderBy('id')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  const { count } = await all.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
  return { members, total: count }
}
