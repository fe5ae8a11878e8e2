import type { Selectable } from 'kysely'
import { newUuid } from '../../../platform/crypto/ids.ts'
import type { Db } from '../../../platform/db/db.ts'
import { fetchPage } from '../../../platform/db/page.ts'
import type { ScimGroupMappingTable, ScimSyncJobTable, WorkspaceRole } from '../../../platform/db/schema.ts'
import { type Clock, isoNow } from '../../../platform/time/clock.ts'
import type { Pagination } from '../../../platform/validation/query-params.ts'

export type Mapping = Selectable<ScimGroupMappingTable>
export type SyncJob = Selectable<ScimSyncJobTable>

function selectMappings(db: Db, organizationId: string) {
  return db.selectFrom('scim_group_mappings').selectAll().where('organization_id', '=', organizationId)
}

export async function listMappings(
  db: Db,
  organizationId: string,
  page: Pagination,
): Promise<{ rows: Mapping[]; total: number }> {
  return fetchPage(selectMappings(db, organizationId), page)
}

export async function findMapping(db: Db, organizationId: string, id: string): Promise<Mapping | undefined> {
  return selectMappings(db, organizationId).where('id', '=', id).executeTakeFirst()
}

export async function findMappingByTarget(
  db: Db,
  organizationId: string,
  groupId: string,
  workspaceId: string,
): Promise<Mapping | undefined> {
  return selectMappings(db, organizationId)
    .where('scim_group_id', '=', groupId)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
}

export async function insertMapping(
  tx: Db,
  clock: Clock,
  input: Pick<Mapping, 'organization_id' | 'scim_group_id' | 'workspace_id' | 'role'>,
): Promise<Mapping> {
  const now = isoNow(clock)
  const { organization_id, scim_group_id, workspace_id, role } = input
  const mapping = {
    id: newUuid(),
    organization_id,
    scim_group_id,
    workspace_id,
    role,
    created_at: now,
    updated_at: now,
  }
  await tx.insertInto('scim_group_mappings').values(mapping).execute()
  return mapping
}

export async function setMappingRole(
  tx: Db,
  clock: Clock,
  id: string,
  role: WorkspaceRole,
): Promise<Mapping> {
  return tx
    .updateTable('scim_group_mappings')
    .set({ role, updated_at: isoNow(clock) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function deleteMapping(tx: Db, id: string): Promise<void> {
  await tx.deleteFrom('scim_group_mappings').where('id', '=', id).execute()
}

/** Turns the memberships that the mapping grants into manual ones. */
export async function makeMembershipsManual(tx: Db, mapping: Mapping): Promise<void> {
  const granted = tx
    .selectFrom('scim_group_members')
    .innerJoin('scim_users', 'scim_users.id', 'scim_group_members.scim_user_id')
    .innerJoin('members', 'members.id', 'scim_users.user_id')
    .select('members.id')
    .where('scim_group_members.group_id', '=', mapping.scim_group_id)
    .where('members.active', '=', 1)
  await tx
    .updateTable('workspace_members')
    .set({ is_manual: 1 })
    .where('workspace_id', '=', mapping.workspace_id)
    .where('user_id', 'in', granted)
    .execute()
}

export async function countGroups(db: Db, organizationId: string): Promise<number> {
  const { count } = await db
    .selectFrom('scim_groups')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow()
  return count
}

export async function insertJob(db: Db, clock: Clock, organizationId: string): Promise<SyncJob> {
  const job: SyncJob = {
    id: newUuid(),
    organization_id: organizationId,
    status: 'queued',
    created_at: isoNow(clock),
    started_at: null,
    finished_at: null,
    synced_groups: null,
    deleted_groups: null,
    error_message: null,
  }
  await db.insertInto('scim_sync_jobs').values(job).execute()
  return job
}

export async function findJob(db: Db, organizationId: string, id: string): Promise<SyncJob | undefined> {
  return db
    .selectFrom('scim_sync_jobs')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Updates an unfinished job only: a job marked as failed stays failed. */
export async function updateJob(
  db: Db,
  id: string,
  changes: Partial<Omit<SyncJob, 'id' | 'organization_id' | 'created_at'>>,
): Promise<void> {
  await db
    .updateTable('scim_sync_jobs')
    .set(changes)
    .where('id', '=', id)
    .where('status', 'in', ['queued', 'running'])
    .execute()
}

/** Jobs started before `before` ended with the process that ran them. */
export async function failJobsBefore(
  db: Db,
  clock: Clock,
  organizationId: string,
  before: string,
): Promise<void> {
  await db
    .updateTable('scim_sync_jobs')
    .set({
      status: 'failed',
      finished_at: isoNow(clock),
      error_message: 'The server stopped before the job was finished.',
    })
    .where('organization_id', '=', organizationId)
    .where('status', 'in', ['queued', 'running'])
    .where('created_at', '<', before)
    .execute()
}
