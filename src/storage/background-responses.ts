import { CompiledQuery, sql } from 'kysely'
import type { Statement } from '../platform/db/batch.ts'
import type { Db } from '../platform/db/db.ts'
import { asObject, asObjects, type JsonObject } from '../platform/json/json-values.ts'
import { isoNow } from '../platform/time/clock.ts'
import { buildResponseStatements, type Owner, type StoreContext } from './stored-responses.ts'

/** An unfinished response: once it is finished, it is a stored response and its row here is deleted. */
export interface UnfinishedResponse {
  id: string
  owner: Owner
  nodeId: string
  body: JsonObject
}

/** False if the workspace has reached its limit. */
export async function queueResponse(
  store: StoreContext,
  response: UnfinishedResponse,
  maxQueued: number,
): Promise<boolean> {
  const { db, vault, clock } = store
  const { id, owner, nodeId, body } = response
  return db.transaction().execute(async (tx) => {
    // Locks the workspace, so that concurrent requests count each other.
    await sql`update workspaces set id = id where id = ${owner.workspaceId}`.execute(tx)
    const { count } = await tx
      .selectFrom('background_responses')
      .select(({ fn }) => fn.countAll<number | string>().as('count'))
      .where('workspace_id', '=', owner.workspaceId)
      .executeTakeFirstOrThrow()
    if (Number(count) >= maxQueued) return false
    await tx
      .insertInto('background_responses')
      .values({
        id,
        organization_id: owner.organizationId,
        workspace_id: owner.workspaceId,
        node_id: nodeId,
        status: 'queued',
        is_cancelled: 0,
        body: vault.encrypt(JSON.stringify(body), id),
        created_at: isoNow(clock),
      })
      .execute()
    return true
  })
}

/** The response as its client sees it; undefined if it is finished or belongs to another workspace. */
export async function findUnfinishedResponse(
  store: StoreContext,
  owner: Owner,
  id: string,
): Promise<JsonObject | undefined> {
  const row = await store.db
    .selectFrom('background_responses')
    .select(['body', 'status'])
    .where('id', '=', id)
    .where('organization_id', '=', owner.organizationId)
    .where('workspace_id', '=', owner.workspaceId)
    .executeTakeFirst()
  return row && { ...openBody(store, row.body, id), status: row.status }
}

export async function markInProgress(db: Db, id: string): Promise<void> {
  await db.updateTable('background_responses').set({ status: 'in_progress' }).where('id', '=', id).execute()
}

/** Polled by the node that runs the response. */
export async function requestCancellation(db: Db, id: string): Promise<void> {
  await db.updateTable('background_responses').set({ is_cancelled: 1 }).where('id', '=', id).execute()
}

export async function listCancellationRequests(db: Db, nodeId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('background_responses')
    .select('id')
    .where('node_id', '=', nodeId)
    .where('is_cancelled', '=', 1)
    .execute()
  return rows.map(({ id }) => id)
}

/** Deletes a response that was never started and whose client gets an error. */
export async function deleteUnfinishedResponse(db: Db, id: string): Promise<void> {
  await db.deleteFrom('background_responses').where('id', '=', id).execute()
}

/** Committed with the statements that store the completed response. */
export function buildUnfinishedDelete(db: Db, id: string): Statement {
  const { sql: text, parameters } = db.deleteFrom('background_responses').where('id', '=', id).compile()
  return { sql: text, values: parameters }
}

export async function isUnfinished(db: Db, id: string): Promise<boolean> {
  const row = await db.selectFrom('background_responses').select('id').where('id', '=', id).executeTakeFirst()
  return row !== undefined
}

export interface FinishedResponse extends Omit<UnfinishedResponse, 'nodeId'> {
  /** The input items of the request. */
  input: JsonObject[]
}

/** Stores a finished response and returns its size in bytes: 0 if it was stored before. */
export async function finishResponse(
  store: StoreContext,
  { id, owner, body, input }: FinishedResponse,
  retentionDays: number,
): Promise<number> {
  const output = asObjects(body.output)
  const stored = { id, owner, previousId: null, body, input, output, retentionDays }
  const { statements, bytes } = await buildResponseStatements(store, stored)
  return store.db.transaction().execute(async (tx) => {
    const { numDeletedRows } = await tx
      .deleteFrom('background_responses')
      .where('id', '=', id)
      .executeTakeFirst()
    if (numDeletedRows === 0n) return 0
    for (const { sql: text, values } of statements) {
      await tx.executeQuery(CompiledQuery.raw(text, [...values]))
    }
    return bytes
  })
}

/** Responses of nodes that no longer exist. */
export async function listOrphanedResponses(
  store: StoreContext,
  nodeId: string,
): Promise<UnfinishedResponse[]> {
  const rows = await store.db
    .selectFrom('background_responses')
    .selectAll()
    .where('node_id', '<>', nodeId)
    .where('node_id', 'not in', (from) => from.selectFrom('nodes').select('id'))
    .limit(orphanBatchSize)
    .execute()
  return rows.map((row) => ({
    id: row.id,
    owner: { organizationId: row.organization_id, workspaceId: row.workspace_id },
    nodeId: row.node_id,
    body: openBody(store, row.body, row.id),
  }))
}

const orphanBatchSize = 500

function openBody({ vault }: StoreContext, encrypted: string, id: string): JsonObject {
  return asObject(JSON.parse(vault.decrypt(encrypted, id))) ?? {}
}
