import { CompiledQuery, type Insertable, type Selectable, type Updateable } from 'kysely'
import type { VideoCall, VideoEnd } from '../formats/call/video.ts'
import type { UpstreamTarget } from '../ledger/draft.ts'
import type { Vault } from '../platform/crypto/crypto.ts'
import type { Statement } from '../platform/db/batch.ts'
import type { Db } from '../platform/db/db.ts'
import type { VideoJobTable } from '../platform/db/schema.ts'

export type VideoJob = Selectable<VideoJobTable>

/** The request that a job was created from. */
export interface VideoJobRequest {
  call: VideoCall
  /** URL to which its end is reported; null: none. */
  callbackUrl: string | null
  /** Origin of the URLs in a webhook. */
  origin: string
}

/** Facts of the endpoint that a job was sent to, for the settlement. */
export interface SentVideoJob {
  target: UpstreamTarget
  /** JSON array of the attempts that failed. */
  attempts: string
  dropped: string[]
  /** Values that were sent for options which the client left open. */
  chosen: Pick<VideoCall, 'duration' | 'resolution' | 'aspectRatio' | 'size' | 'audio'>
}

const activeStatuses: VideoJob['status'][] = ['pending', 'in_progress']

export function isActive({ status }: Pick<VideoJob, 'status'>): boolean {
  return activeStatuses.includes(status)
}

export function encryptJson(vault: Vault, id: string, value: unknown): string {
  return vault.encrypt(JSON.stringify(value), id)
}

export function openJobRequest(vault: Vault, { id, request }: VideoJob): VideoJobRequest {
  return JSON.parse(vault.decrypt(request, id))
}

/** Decrypts the URLs at which the provider has the videos of a completed job. */
export function openContents(vault: Vault, { id, contents }: VideoJob): string[] {
  return contents === null ? [] : JSON.parse(vault.decrypt(contents, id))
}

/** The stored data of a job cannot be decoded, now or later. */
export class DamagedJobError extends Error {}

export function readSent({ id, sent }: VideoJob): SentVideoJob | null {
  if (sent === null) return null
  try {
    return JSON.parse(sent)
  } catch (cause) {
    throw new DamagedJobError(`the submission of ${id} cannot be decoded`, { cause })
  }
}

export async function insertVideoJob(db: Db, job: Insertable<VideoJobTable>): Promise<void> {
  await db.insertInto('video_jobs').values(job).execute()
}

/** The jobs of an organization, or of some of its workspaces. */
export interface VideoJobScope {
  organizationId: string
  /** Null: all. */
  workspaceIds: ReadonlySet<string> | null
}

export async function findVideoJob(
  db: Db,
  { organizationId, workspaceIds }: VideoJobScope,
  id: string,
): Promise<VideoJob | undefined> {
  return db
    .selectFrom('video_jobs')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .$if(workspaceIds !== null, (query) => query.where('workspace_id', 'in', [...(workspaceIds ?? [])]))
    .executeTakeFirst()
}

/** Lists jobs, newest first by default; ids grow with time. */
export async function listVideoJobs(
  db: Db,
  { organizationId, workspaceIds }: VideoJobScope,
  { after, limit, order }: { after: string | undefined; limit: number; order: 'asc' | 'desc' },
): Promise<VideoJob[]> {
  return db
    .selectFrom('video_jobs')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .$if(workspaceIds !== null, (query) => query.where('workspace_id', 'in', [...(workspaceIds ?? [])]))
    .$if(after !== undefined, (query) => query.where('id', order === 'asc' ? '>' : '<', after ?? ''))
    .orderBy('id', order)
    .limit(limit)
    .execute()
}

export async function countActiveVideoJobs(db: Db, workspaceId: string): Promise<number> {
  const { count } = await db
    .selectFrom('video_jobs')
    .select(({ fn }) => fn.countAll<number | string>().as('count'))
    .where('workspace_id', '=', workspaceId)
    .where('due_at', 'is not', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Deletes a job whose client gets an error instead of its id. */
export function buildJobDelete(db: Db, id: string): Statement {
  const { sql, parameters } = db.deleteFrom('video_jobs').where('id', '=', id).compile()
  return { sql, values: parameters }
}

export async function deleteVideoJob(db: Db, id: string): Promise<void> {
  await db.deleteFrom('video_jobs').where('id', '=', id).execute()
}

/** A node that works on jobs, and until when no other node may work on those it holds. */
export interface Lease {
  owner: string
  now: string
  until: string
}

type DueColumn = 'due_at' | 'webhook_due_at'

/**
 * Takes jobs that are due. Each is taken by one node only: the update applies to a job that no other node holds, by the
 * clock that all nodes share.
 */
export async function claimDueJobs(
  db: Db,
  column: DueColumn,
  { owner, now, until }: Lease,
  limit: number,
): Promise<VideoJob[]> {
  const due = await db
    .selectFrom('video_jobs')
    .select('id')
    .where(column, '<=', now)
    .where((eb) => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<', now)]))
    .orderBy(column)
    .limit(limit)
    .execute()
  const claimed: VideoJob[] = []
  for (const { id } of due) {
    const job = await db
      .updateTable('video_jobs')
      .set({ lease_owner: owner, lease_until: until })
      .where('id', '=', id)
      .where(column, '<=', now)
      .where((eb) => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<', now)]))
      .returningAll()
      .executeTakeFirst()
    if (job) claimed.push(job)
  }
  return claimed
}

/** Whether a job is to be polled or reported, now or later. */
export async function hasUnfinishedJobs(db: Db): Promise<boolean> {
  for (const column of ['due_at', 'webhook_due_at'] as const) {
    const query = db.selectFrom('video_jobs').select('id').where(column, 'is not', null).limit(1)
    if (await query.executeTakeFirst()) return true
  }
  return false
}

/** Releases all leases, for a process that has just started and is the only one: earlier leases mean nothing. */
export async function releaseLeases(db: Db): Promise<void> {
  await db
    .updateTable('video_jobs')
    .set({ lease_owner: null, lease_until: null })
    .where('lease_owner', 'is not', null)
    .execute()
}

/** False if another node has taken the job over. */
export async function updateHeldJob(
  db: Db,
  id: string,
  owner: string,
  changes: Updateable<VideoJobTable>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('video_jobs')
    .set(changes)
    .where('id', '=', id)
    .where('lease_owner', '=', owner)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export interface EndedJob {
  status: VideoEnd
  error: string | null
  contents: string | null
  endedAt: string
  contentExpiresAt: string | null
  /** Time at which the webhook is sent; null: never. */
  webhookDueAt: string | null
}

/** The end of a job, committed with its settlement. A job ends once. */
export function buildJobEnd(db: Db, id: string, ended: EndedJob): Statement {
  const { sql, parameters } = updateActiveJob(db, id, ended).compile()
  return { sql, values: parameters }
}

/** Stores the content of a job's request, in workspaces that log content. */
export async function runJobStatements(db: Db, statements: readonly Statement[]): Promise<void> {
  for (const { sql, values } of statements) await db.executeQuery(CompiledQuery.raw(sql, [...values]))
}

/** Ends a job without a hold, whose settlement has no effect. */
export async function endJobWithoutHold(db: Db, id: string, ended: EndedJob): Promise<void> {
  await updateActiveJob(db, id, ended).execute()
}

function updateActiveJob(db: Db, id: string, ended: EndedJob) {
  return db
    .updateTable('video_jobs')
    .set({
      status: ended.status,
      error: ended.error,
      contents: ended.contents,
      ended_at: ended.endedAt,
      content_expires_at: ended.contentExpiresAt,
      webhook_due_at: ended.webhookDueAt,
      due_at: null,
      lease_owner: null,
      lease_until: null,
    })
    .where('id', '=', id)
    .where('status', 'in', activeStatuses)
}

/** Forgets the videos of jobs whose content has expired, and returns their ids. */
export async function expireContents(db: Db, now: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('video_jobs')
    .select('id')
    .where('contents', 'is not', null)
    .where('content_expires_at', '<', now)
    .limit(limit)
    .execute()
  const ids = rows.map(({ id }) => id)
  if (ids.length > 0)
    await db.updateTable('video_jobs').set({ contents: null }).where('id', 'in', ids).execute()
  return ids
}

/** Deletes jobs that ended before a time, as other records of requests. */
export async function deleteEndedJobs(db: Db, before: string): Promise<void> {
  await db.deleteFrom('video_jobs').where('ended_at', '<', before).where('contents', 'is', null).execute()
}

/** Selects the ids of jobs that still have content. */
export async function filterJobsWithContent(db: Db, ids: string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db
    .selectFrom('video_jobs')
    .select('id')
    .where('id', 'in', ids)
    .where((eb) => eb.or([eb('contents', 'is not', null), eb('due_at', 'is not', null)]))
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/** The hold of an active job, with the draft of its generation. */
export async function findJobHold(db: Db, generationId: string) {
  return db.selectFrom('holds').selectAll().where('id', '=', generationId).executeTakeFirst()
}

/** Finds the costs of jobs; a job that is not settled is absent. */
export async function findJobCosts(
  db: Db,
  generationIds: string[],
): Promise<Map<string, { cost_nanos: bigint; is_byok: number }>> {
  if (generationIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('generations')
    .select(['id', 'cost_nanos', 'is_byok'])
    .where('id', 'in', generationIds)
    .execute()
  return new Map(rows.map(({ id, ...cost }) => [id, cost]))
}

/** The default webhook of a workspace. */
export async function findVideoCallback(
  db: Db,
  workspaceId: string,
): Promise<{ video_callback_url: string | null; sealed_video_secret: string | null } | undefined> {
  return db
    .selectFrom('workspaces')
    .select(['video_callback_url', 'sealed_video_secret'])
    .where('id', '=', workspaceId)
    .executeTakeFirst()
}
