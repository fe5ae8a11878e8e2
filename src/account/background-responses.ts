import { CompiledQuery, sql } from 'kysely'
import type { Statement } from '../db/batch.ts'
import type { Db } from '../db/db.ts'
import { isoNow } from '../lib/clock.ts'
import { type JsonObject, objectOf, objectsOf } from '../lib/loose.ts'
import { keptResponse, type Owner, type Shelf } from './stored-responses.ts'

/** A response that is not finished: once it is, it is among the stored ones and no longer here. */
export interface UnfinishedResponse {
  id: string
  owner: Owner
  nodeId: string
  body: JsonObject
}

/** False when the workspace has as many as it may. */
export async function queueResponse(
  shelf: Shelf,
  queued: UnfinishedResponse,
  most: number,
): Promise<boolean> {
  const { db, vault, clock } = shelf
  const { id, owner, nodeId, body } = queued
  return db.transaction().execute(async (tx) => {
    // Locks the workspace, so that requests at the same time count each other.
    await sql`update workspaces set id = id where id = ${owner.workspaceId}`.execute(tx)
    const { count } = await tx
      .selectFrom('background_responses')
      .select(({ fn }) => fn.countAll<number | string>().as('count'))
      .where('workspace_id', '=', owner.workspaceId)
      .executeTakeFirstOrThrow()
    if (Number(count) >= most) return false
    await tx
      .insertInto('background_responses')
      .values({
        id,
        organization_id: owner.organizationId,
        workspace_id: owner.workspaceId,
        node_id: nodeId,
        status: 'queued',
        is_cancelled: 0,
        body: vault.seal(JSON.stringify(body), id),
        created_at: isoNow(clock),
      })
      .execute()
    return true
  })
}

/** As its client sees it; undefined when it is finished, or another workspace's. */
export async function findUnfinished(
  shelf: Shelf,
  owner: Owner,
  id: string,
): Promise<JsonObject | undefined> {
  const row = await shelf.db
    .selectFrom('background_responses')
    .select(['body', 'status'])
    .where('id', '=', id)
    .where('organization_id', '=', owner.organizationId)
    .where('workspace_id', '=', owner.workspaceId)
    .executeTakeFirst()
  return row && { ...opened(shelf, row.body, id), status: row.status }
}

export async function markInProgress(db: Db, id: string): Promise<void> {
  await db.updateTable('background_responses').set({ status: 'in_progress' }).where('id', '=', id).execute()
}

/** For the node that makes it, which looks for such requests. */
export async function requestCancel(db: Db, id: string): Promise<void> {
  await db.updateTable('background_responses').set({ is_cancelled: 1 }).where('id', '=', id).execute()
}

export async function cancelRequests(db: Db, nodeId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('background_responses')
    .select('id')
    .where('node_id', '=', nodeId)
    .where('is_cancelled', '=', 1)
    .execute()
  return rows.map(({ id }) => id)
}

/** It was never begun: its client is told why. */
export async function dropUnfinished(db: Db, id: string): Promise<void> {
  await db.deleteFrom('background_responses').where('id', '=', id).execute()
}

/** Goes along with what stores a response that was completed. */
export function unfinishedRemoval(db: Db, id: string): Statement {
  const { sql: text, parameters } = db.deleteFrom('background_responses').where('id', '=', id).compile()
  return { sql: text, values: parameters }
}

export async function isUnfinished(db: Db, id: string): Promise<boolean> {
  const row = await db.selectFrom('background_responses').select('id').where('id', '=', id).executeTakeFirst()
  return row !== undefined
}

export interface EndedResponse extends Omit<UnfinishedResponse, 'nodeId'> {
  /** What it was asked. */
  input: JsonObject[]
}

/** Stores how a response ended, and says how many bytes that takes: none when it has been done. */
export async function finishResponse(
  shelf: Shelf,
  { id, owner, body, input }: EndedResponse,
  retentionDays: number,
): Promise<number> {
  const output = objectsOf(body.output)
  const stored = { id, owner, previousId: null, body, input, output, retentionDays }
  const { statements, bytes } = await keptResponse(shelf, stored)
  return shelf.db.transaction().execute(async (tx) => {
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

/** Those of nodes that are gone, on which nobody works any more. */
export async function orphanedResponses(shelf: Shelf, nodeId: string): Promise<UnfinishedResponse[]> {
  const rows = await shelf.db
    .selectFrom('background_responses')
    .selectAll()
    .where('node_id', '<>', nodeId)
    .where('node_id', 'not in', (from) => from.selectFrom('nodes').select('id'))
    .limit(atOnce)
    .execute()
  return rows.map((row) => ({
    id: row.id,
    owner: { organizationId: row.organization_id, workspaceId: row.workspace_id },
    nodeId: row.node_id,
    body: opened(shelf, row.body, row.id),
  }))
}

const atOnce = 500

function opened({ vault }: Shelf, sealed: string, id: string): JsonObject {
  return objectOf(JSON.parse(vault.open(sealed, id))) ?? {}
}
