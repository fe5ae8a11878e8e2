import { type Selectable, sql } from 'kysely'
import type { Gateway } from '../gateway/gateway.ts'
import type { RunResult } from '../platform/concurrency/repeated-task.ts'
import { newTimeOrderedHex } from '../platform/crypto/ids.ts'
import type { Db } from '../platform/db/db.ts'
import type { GenerationContentTable } from '../platform/db/schema.ts'
import type { ByteRange } from '../platform/files/blob-store.ts'
import type { S3Store } from '../platform/files/s3-store.ts'
import { isoNow } from '../platform/time/clock.ts'
import { findBucket } from './file-storage.ts'

/** Keys of packs. They begin with the hour of their contents, so that the oldest are listed first. */
const keyPrefix = 'contents/'
/** Contents of one pack, which is in memory while it is written. */
const maxRows = 200
const maxPackBytes = 8 * 1024 * 1024
/** One run ends after this time, and the next one continues. */
const runMs = 40_000
/** Longer than a run, with the upload that it may end with. */
const leaseMs = 120_000
/** An object that is younger may be a pack that is being written. */
const abandonedAfterMs = 3_600_000
/** Packs that are looked up at once. */
const packsPerQuery = 50
const hourLength = 'YYYY-MM-DDTHH'.length

type ContentRow = Pick<
  Selectable<GenerationContentTable>,
  'sealed_content' | 'pack' | 'pack_offset' | 'pack_length'
>
type PackContext = Pick<Gateway, 'settings' | 'db' | 'clock'>

/** Reads encrypted contents, wherever they are. */
export class PackReader {
  readonly #bucket: S3Store | null
  #pack: { key: string; bytes: Buffer } | null = null

  constructor(gateway: Pick<Gateway, 'settings'>) {
    this.#bucket = findBucket(gateway)
  }

  /** Keeps the pack in memory: what is read next is mostly in the same one. Null if the content has expired. */
  async read(row: ContentRow): Promise<string | null> {
    const { pack } = row
    if (pack === null) return row.sealed_content
    if (this.#pack?.key !== pack) {
      const bytes = await this.#readBytes(pack)
      this.#pack = bytes && { key: pack, bytes }
    }
    const { start, end } = rangeOf(row)
    return this.#pack?.bytes.toString('latin1', start, end) ?? null
  }

  /** Reads nothing else of the pack. */
  async readOne(row: ContentRow): Promise<string | null> {
    if (row.pack === null) return row.sealed_content
    const bytes = await this.#readBytes(row.pack, rangeOf(row))
    return bytes?.toString('latin1') ?? null
  }

  async #readBytes(pack: string, range?: ByteRange): Promise<Buffer | null> {
    if (!this.#bucket) throw new Error('the content is in a bucket, and headgate.yaml no longer has files.s3')
    const body = await this.#bucket.read(keyPrefix + pack, range)
    return body && Buffer.from(await new Response(body).arrayBuffer())
  }
}

function rangeOf({ pack_offset, pack_length }: ContentRow): ByteRange {
  const start = pack_offset ?? 0
  return { start, end: start + (pack_length ?? 0) }
}

/**
 * Moves contents from the database to the bucket, the oldest first, many in one object. They are written to the database
 * first, with the charge, so that no request depends on the bucket.
 */
export async function moveContents(gateway: PackContext): Promise<RunResult> {
  const bucket = findBucket(gateway)
  if (!bucket || gateway.settings.records.contents !== 'bucket') return 'idle'
  const first = await findFirstUnpacked(gateway.db)
  if (first === null || !(await takeLease(gateway))) return 'idle'
  try {
    return (await movePacks(gateway.db, bucket, first)) ? 'idle' : 'busy'
  } finally {
    await releaseLease(gateway.db)
  }
}

/** Returns whether all are moved. */
async function movePacks(db: Db, bucket: S3Store, first: string): Promise<boolean> {
  const end = performance.now() + runMs
  let next: string | null = first
  while (next !== null && performance.now() < end) {
    await movePack(db, bucket, next)
    next = await findFirstUnpacked(db)
  }
  return next === null
}

async function findFirstUnpacked(db: Db): Promise<string | null> {
  const row = await db
    .selectFrom('generation_contents')
    .select('created_at')
    .where('pack', 'is', null)
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirst()
  return row?.created_at ?? null
}

const leaseName = 'content_packs_lease'

/** Saves double work only: two nodes that move the same contents leave them in one pack. */
async function takeLease({ db, clock }: PackContext): Promise<boolean> {
  const value = new Date(clock.now() + leaseMs).toISOString()
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('instance')
    .values({ name: leaseName, value })
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet({ value }).where('instance.value', '<', isoNow(clock)),
    )
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

async function releaseLease(db: Db): Promise<void> {
  await db.deleteFrom('instance').where('name', '=', leaseName).execute()
}

/** Contents of one hour share a pack, so that it expires with them. */
async function movePack(db: Db, bucket: S3Store, first: string): Promise<void> {
  const hour = first.slice(0, hourLength)
  const ids = await choosePackIds(db, hour)
  const rows = await db
    .selectFrom('generation_contents')
    .select(['generation_id', 'sealed_content'])
    .where('generation_id', 'in', ids)
    .where('pack', 'is', null)
    .execute()
  if (rows.length === 0) return
  const pack = `${hour}-${newTimeOrderedHex()}`
  await bucket.putBytes(
    keyPrefix + pack,
    Buffer.from(rows.map((row) => row.sealed_content).join(''), 'latin1'),
  )
  // Other rows have expired, or were moved by another node.
  if ((await recordPack(db, pack, rows)) === 0n) await bucket.delete(keyPrefix + pack)
}

/** At least one, however large it is. */
async function choosePackIds(db: Db, hour: string): Promise<string[]> {
  const { rows } = await sql<{ generation_id: string; bytes: number | string }>`
    select generation_id, octet_length(sealed_content) as bytes from generation_contents
    where pack is null and created_at >= ${hour} and created_at < ${`${hour}~`}
    order by created_at limit ${sql.lit(maxRows)}`.execute(db)
  let bytes = 0
  const chosen = rows.filter((row, at) => {
    bytes += Number(row.bytes)
    return at === 0 || bytes <= maxPackBytes
  })
  return chosen.map(({ generation_id }) => generation_id)
}

/** Returns how many rows are in the pack now. */
async function recordPack(
  db: Db,
  pack: string,
  rows: readonly { generation_id: string; sealed_content: string }[],
): Promise<bigint> {
  const lengths = rows.map(({ sealed_content }) => sealed_content.length)
  const offsets = [0]
  for (const length of lengths) offsets.push((offsets.at(-1) ?? 0) + length)
  const choose = (values: readonly number[]) =>
    sql<number>`case generation_id ${sql.join(
      rows.map(({ generation_id }, at) => sql`when ${generation_id} then ${sql.lit(values[at] ?? 0)}`),
      sql` `,
    )} end`
  const { numUpdatedRows } = await db
    .updateTable('generation_contents')
    .set({ pack, pack_offset: choose(offsets), pack_length: choose(lengths), sealed_content: '' })
    .where(
      'generation_id',
      'in',
      rows.map(({ generation_id }) => generation_id),
    )
    .where('pack', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows
}

/**
 * Runs work while no node moves contents. False, without running it, if one does.
 */
export async function withoutMoving(gateway: PackContext, work: () => Promise<void>): Promise<boolean> {
  if (!findBucket(gateway)) {
    await work()
    return true
  }
  if (!(await takeLease(gateway))) return false
  try {
    await work()
  } finally {
    await releaseLease(gateway.db)
  }
  return true
}

/** The content of others in a pack, which is stored in the database again. */
export interface UnpackedContent {
  generationId: string
  sealed: string
}

/** Reads packs that have some of these contents, to delete them: the other contents in them, and the packs. */
export async function readSharedPacks(
  { db, settings }: Pick<PackContext, 'db' | 'settings'>,
  ids: readonly string[],
): Promise<{ packs: string[]; others: UnpackedContent[] }> {
  const deleted = new Set(ids)
  const packs = (
    await db
      .selectFrom('generation_contents')
      .select('pack')
      .distinct()
      .where('generation_id', 'in', ids)
      .where('pack', 'is not', null)
      .execute()
  ).flatMap(({ pack }) => pack ?? [])
  if (packs.length === 0) return { packs, others: [] }
  const reader = new PackReader({ settings })
  const rows = await db
    .selectFrom('generation_contents')
    .select(['generation_id', 'sealed_content', 'pack', 'pack_offset', 'pack_length'])
    .where('pack', 'in', packs)
    .orderBy('pack')
    .execute()
  const others: UnpackedContent[] = []
  for (const row of rows) {
    if (deleted.has(row.generation_id)) continue
    const sealed = await reader.read(row)
    if (sealed !== null) others.push({ generationId: row.generation_id, sealed })
  }
  return { packs, others }
}

/** Stores contents in the database again, from where they are moved to another pack. */
export async function unpackContents(tx: Db, others: readonly UnpackedContent[]): Promise<void> {
  for (const { generationId, sealed } of others)
    await tx
      .updateTable('generation_contents')
      .set({ sealed_content: sealed, pack: null, pack_offset: null, pack_length: null })
      .where('generation_id', '=', generationId)
      .where('pack', 'is not', null)
      .execute()
}

export async function deletePacks(
  gateway: Pick<PackContext, 'settings'>,
  packs: readonly string[],
): Promise<void> {
  const bucket = findBucket(gateway)
  if (bucket) for (const pack of packs) await bucket.delete(keyPrefix + pack)
}

/**
 * Deletes packs whose contents have all been deleted from the database, and those that a crash left without any: the
 * oldest first, until one is in use.
 */
export async function deleteUnusedPacks(gateway: PackContext): Promise<number> {
  const bucket = findBucket(gateway)
  let deleted = 0
  if (!bucket) return deleted
  const until = gateway.clock.now() - abandonedAfterMs
  for await (const page of bucket.list(keyPrefix)) {
    for (let at = 0; at < page.length; at += packsPerQuery) {
      const packs = page
        .slice(at, at + packsPerQuery)
        .flatMap(({ key, modifiedAt }) => (modifiedAt < until ? [key.slice(keyPrefix.length)] : []))
      const unused = await findUnused(gateway.db, packs)
      if (unused.length === 0) return deleted
      for (const pack of unused) await bucket.delete(keyPrefix + pack)
      deleted += unused.length
    }
  }
  return deleted
}

async function findUnused(db: Db, packs: readonly string[]): Promise<string[]> {
  if (packs.length === 0) return []
  const rows = await db
    .selectFrom('generation_contents')
    .select('pack')
    .distinct()
    .where('pack', 'in', packs)
    .execute()
  const used = new Set(rows.map(({ pack }) => pack))
  return packs.filter((pack) => !used.has(pack))
}
