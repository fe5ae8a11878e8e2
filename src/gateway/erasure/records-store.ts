import { advanceRollUps, findStream, queueGenerations } from '../../analytics/clickhouse/stream-store.ts'
import { readStepCount } from '../../analytics/rollups/roll-up.ts'
import { responseIdOf } from '../../formats/responses/response-object.ts'
import type { Db } from '../../platform/db/db.ts'
import { asObject, asObjects, asString } from '../../platform/json/json-values.ts'
import { readSharedPacks, unpackContents } from '../../storage/content-packs.ts'
import type { Gateway } from '../gateway.ts'
import type { ErasedCounts } from './erasure.ts'

/** Generations that are examined with one query. */
const pageSize = 1000
/** Generations that are changed in one transaction. */
const batchSize = 200

export interface ExaminedPage {
  /** Those of the end user, with where an erasure continues after them. */
  found: { id: string; created_at: string }[]
  /** The last of all; null at the end. */
  last: [createdAt: string, id: string] | null
}

/** Examines generations in the order of their arrival. */
export async function examineGenerations(
  db: Db,
  {
    organizationId,
    name,
    before,
    after,
  }: { organizationId: string; name: string; before: string; after: readonly string[] },
): Promise<ExaminedPage> {
  const [time = '', id = ''] = after
  const rows = await db
    .selectFrom('generations')
    .select(['id', 'created_at', 'external_user'])
    .where('organization_id', '=', organizationId)
    .where('created_at', '>=', time)
    .where('created_at', '<', before)
    .where((eb) => eb.or([eb('created_at', '>', time), eb('id', '>', id)]))
    .orderBy('created_at')
    .orderBy('id')
    .limit(pageSize)
    .execute()
  const last = rows.at(-1)
  const found = rows.filter(({ external_user }) => external_user === name)
  if (found.length <= batchSize)
    return { found, last: rows.length === pageSize && last ? [last.created_at, last.id] : null }
  const some = found.slice(0, batchSize)
  const end = some.at(-1)
  return { found: some, last: end ? [end.created_at, end.id] : null }
}

/** What has to be read before the transaction that erases. */
export interface ErasurePlan {
  ids: string[]
  responseIds: string[]
  conversationIds: string[]
  packs: string[]
  others: Awaited<ReturnType<typeof readSharedPacks>>['others']
}

export async function planErasure(
  gateway: Pick<Gateway, 'db' | 'vault' | 'settings'>,
  organizationId: string,
  ids: string[],
): Promise<ErasurePlan> {
  const responseIds = ids.map(responseIdOf)
  return {
    ids,
    responseIds,
    conversationIds: await findConversations(gateway, organizationId, responseIds),
    ...(await readSharedPacks(gateway, ids)),
  }
}

/** The conversations that stored responses were added to. */
async function findConversations(
  { db, vault }: Pick<Gateway, 'db' | 'vault'>,
  organizationId: string,
  responseIds: readonly string[],
): Promise<string[]> {
  const found = new Set<string>()
  for (const id of responseIds) {
    const row = await db
      .selectFrom('stored_responses')
      .select('body')
      .where('id', '=', id)
      .where('organization_id', '=', organizationId)
      .executeTakeFirst()
    if (!row) continue
    const body = asObject(JSON.parse(vault.decrypt(row.body, id)))
    const conversationId = asString(asObject(body?.conversation)?.id)
    if (conversationId !== undefined) found.add(conversationId)
  }
  return [...found]
}

/** Deletes what requests contained, and renames their end user. Money stays as it is. */
export async function eraseRequests(
  tx: Db,
  organizationId: string,
  { name, pseudonym }: { name: string; pseudonym: string },
  plan: ErasurePlan,
): Promise<Partial<ErasedCounts>> {
  const { ids } = plan
  await unpackContents(tx, plan.others)
  const contents = await deleteRows(tx, 'generation_contents', 'generation_id', ids)
  const feedback = await deleteRows(tx, 'generation_feedback', 'generation_id', ids)
  const responses = await deleteOwned(tx, 'stored_responses', organizationId, plan.responseIds)
  await deleteOwned(tx, 'background_responses', organizationId, plan.responseIds)
  const conversations = await deleteOwned(tx, 'conversations', organizationId, plan.conversationIds)
  const videos = await deleteVideos(tx, ids)
  const similar = await deleteOwned(tx, 'semantic_cache_entries', organizationId, ids)
  await deleteRows(tx, 'outbox_deliveries', 'event_id', ids)
  const events = await deleteRows(tx, 'outbox_events', 'id', ids)
  await renameInGenerations(tx, { name, pseudonym }, ids)
  return {
    requests: ids.length,
    contents,
    feedback,
    stored_responses: responses,
    conversations,
    videos,
    similar_replies: similar,
    undelivered_events: events,
  }
}

async function deleteRows(
  tx: Db,
  table: 'generation_contents' | 'generation_feedback' | 'outbox_deliveries' | 'outbox_events',
  column: 'generation_id' | 'event_id' | 'id',
  ids: readonly string[],
): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom(table as 'generation_contents')
    .where(column as 'generation_id', 'in', ids)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

async function deleteOwned(
  tx: Db,
  table: 'stored_responses' | 'background_responses' | 'conversations' | 'semantic_cache_entries',
  organizationId: string,
  ids: readonly string[],
): Promise<number> {
  if (ids.length === 0) return 0
  const { numDeletedRows } = await tx
    .deleteFrom(table)
    .where('id', 'in', ids)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** Jobs that have ended; the files are swept. Others are deleted by a later pass. */
async function deleteVideos(tx: Db, ids: readonly string[]): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('video_jobs')
    .where('generation_id', 'in', ids)
    .where('due_at', 'is', null)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** The roll-ups of rows that were read before are discarded, and ClickHouse gets the rows again. */
async function renameInGenerations(
  tx: Db,
  { name, pseudonym }: { name: string; pseudonym: string },
  ids: string[],
): Promise<void> {
  await advanceRollUps(tx)
  await tx
    .updateTable('generations')
    .set({ external_user: pseudonym, session_id: null })
    .where('id', 'in', ids)
    .where('external_user', '=', name)
    .execute()
  await stripMessages(tx, ids)
  const unrolled = await tx
    .selectFrom('unrolled_generations')
    .selectAll()
    .where('generation_id', 'in', ids)
    .execute()
  for (const { generation_id, previous } of unrolled) {
    if (previous === null) continue
    const record = { ...asObject(JSON.parse(previous)), external_user: pseudonym }
    await tx
      .updateTable('unrolled_generations')
      .set({ previous: JSON.stringify(record) })
      .where('generation_id', '=', generation_id)
      .execute()
  }
  if (!(await findStream(tx))) return
  const waiting = new Set(unrolled.map(({ generation_id }) => generation_id))
  const rows = await tx
    .selectFrom('generations')
    .select(['id', 'organization_id', 'created_at'])
    .where('id', 'in', ids)
    .execute()
  const rolled = rows.filter(({ id }) => !waiting.has(id))
  await queueGenerations(
    tx,
    Number(await readStepCount(tx)),
    rolled.map(({ id, organization_id }) => ({ generation_id: id, organization_id, previous: null })),
    new Map(rolled.map(({ id, created_at }) => [id, created_at])),
  )
}

/** Messages of providers may quote the prompt where it was logged. */
async function stripMessages(tx: Db, ids: readonly string[]): Promise<void> {
  const rows = await tx
    .selectFrom('generations')
    .select(['id', 'attempts'])
    .where('id', 'in', ids)
    .where('attempts', '<>', '[]')
    .execute()
  for (const { id, attempts } of rows) {
    const stripped = asObjects(JSON.parse(attempts)).map(({ message: _, ...rest }) => rest)
    await tx
      .updateTable('generations')
      .set({ attempts: JSON.stringify(stripped) })
      .where('id', '=', id)
      .execute()
  }
}
