import type { Gateway } from '../../../gateway/gateway.ts'
import { newId } from '../../../platform/crypto/ids.ts'
import type { Db } from '../../../platform/db/db.ts'
import { dropExpiredMonths, readMonthlyIds } from '../../../platform/db/monthly/retention.ts'
import { type Clock, isoNow } from '../../../platform/time/clock.ts'
import { deleteUnusedPacks, PackReader } from '../../../storage/content-packs.ts'
import { type GenerationContent, generationContent } from './content.ts'
import { type GenerationRow, originOf } from './record.ts'

export async function findGeneration(
  db: Db,
  organizationId: string,
  id: string,
): Promise<GenerationRow | undefined> {
  return db
    .selectFrom('generations')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
}

/** An app is identified by its origin; a request may name a page of it. */
export async function findAppId(db: Db, organizationId: string, url: string | null): Promise<number | null> {
  if (url === null) return null
  const row = await db
    .selectFrom('apps')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('url', 'in', [url, originOf(url) ?? url])
    .orderBy('id')
    .executeTakeFirst()
  return row?.id ?? null
}

export interface StoredContent {
  /** The key that made the request; null if the generation is no longer on record. */
  keyId: number | null
  /** The member who created that key. */
  userId: string | null
  workspaceId: string
  content: GenerationContent
}

export async function findContent(
  { db, vault, settings }: Pick<Gateway, 'db' | 'vault' | 'settings'>,
  organizationId: string,
  id: string,
): Promise<StoredContent | undefined> {
  const row = await db
    .selectFrom('generation_contents as content')
    .leftJoin('generations', 'generations.id', 'content.generation_id')
    .select([
      'content.sealed_content',
      'content.pack',
      'content.pack_offset',
      'content.pack_length',
      'content.workspace_id',
      'generations.key_id',
      'generations.user_id',
    ])
    .where('content.generation_id', '=', id)
    .where('content.organization_id', '=', organizationId)
    .executeTakeFirst()
  const sealed = row && (await new PackReader({ settings }).readOne(row))
  if (!row || !sealed) return undefined
  const content = generationContent.parse(JSON.parse(vault.decrypt(sealed, id)))
  return { keyId: row.key_id, userId: row.user_id, workspaceId: row.workspace_id, content }
}

export interface NewFeedback {
  organizationId: string
  generationId: string
  category: string
  comment: string | null
}

export async function insertFeedback(db: Db, clock: Clock, feedback: NewFeedback): Promise<void> {
  await db
    .insertInto('generation_feedback')
    .values({
      id: newId('fb'),
      organization_id: feedback.organizationId,
      generation_id: feedback.generationId,
      category: feedback.category,
      comment: feedback.comment,
      created_at: isoNow(clock),
    })
    .execute()
}

const dayMs = 24 * 60 * 60_000

/** Rows per batch: few enough that no other statement waits for a lock. */
const deleteBatchSize = 500

/** Deletes content older than the retention period in small batches, or by month. Returns how many rows. */
export async function deleteExpiredContents(
  gateway: Pick<Gateway, 'db' | 'clock' | 'settings'>,
): Promise<number> {
  const deleted = await deleteExpiredRows(gateway)
  await deleteUnusedPacks(gateway)
  return deleted
}

async function deleteExpiredRows({
  db,
  clock,
  settings,
}: Pick<Gateway, 'db' | 'clock' | 'settings'>): Promise<number> {
  const days = settings.records.content_retention_days
  const before = new Date(clock.now() - days * dayMs).toISOString()
  await dropExpiredMonths(db, { tables: ['generation_contents'], column: 'created_at', until: before })
  const monthly =
    settings.records.delete_by === 'month' ? await readMonthlyIds(db, 'generation_contents') : null
  for (let deleted = 0; ; ) {
    const { numDeletedRows } = await db
      .deleteFrom('generation_contents')
      .where('generation_id', 'in', (eb) =>
        eb
          .selectFrom('generation_contents')
          .select('generation_id')
          .where('created_at', '<', before)
          .$if(monthly !== null, (query) =>
            query.where(({ eb, or }) =>
              or([
                eb('generation_id', '<', monthly?.from ?? ''),
                eb('generation_id', '>=', monthly?.to ?? ''),
              ]),
            ),
          )
          .orderBy('created_at')
          .limit(deleteBatchSize),
      )
      .executeTakeFirst()
    deleted += Number(numDeletedRows)
    if (numDeletedRows < BigInt(deleteBatchSize)) return deleted
  }
}
