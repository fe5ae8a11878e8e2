import type { Selectable } from 'kysely'
import type { Db } from '../db/db.ts'
import type { Flag, OrganizationTable } from '../db/schema.ts'
import { type Clock, isoNow } from '../lib/clock.ts'
import { newId } from '../lib/ids.ts'
import { createMember, type Member } from './members.ts'
import { createWorkspace, type Workspace } from './workspaces.ts'

export interface NewOrganization {
  name: string
  ownerEmail: string
  isOperator?: Flag
}

export interface OrganizationStart {
  organization: Selectable<OrganizationTable>
  workspace: Workspace
  owner: Member
}

/** An organization is never without a default workspace and an owner. Call it in a transaction. */
export async function createOrganization(
  db: Db,
  clock: Clock,
  wanted: NewOrganization,
): Promise<OrganizationStart> {
  const organization = {
    id: newId('org'),
    name: wanted.name,
    is_operator: wanted.isOperator ?? 0,
    created_at: isoNow(clock),
  }
  await db.insertInto('organizations').values(organization).execute()
  const workspace = await createWorkspace(
    db,
    clock,
    { organizationId: organization.id, createdBy: null, isDefault: true },
    { slug: 'default', name: 'Default' },
  )
  const owner = await createMember(db, clock, {
    organizationId: organization.id,
    email: wanted.ownerEmail,
    role: 'org:admin',
  })
  return { organization, workspace, owner }
}

export async function operatorOrganization(db: Db): Promise<Selectable<OrganizationTable> | undefined> {
  return db.selectFrom('organizations').selectAll().where('is_operator', '=', 1).executeTakeFirst()
}
