import { renameSync, rmSync } from 'node:fs'
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import { type Config, ConfigError } from '../../config.ts'
import { syncDirectory } from '../../ledger/journal-segment.ts'
import { closeDb, type Db, isPostgresUrl, openDb } from '../../platform/db/db.ts'
import { migrations } from '../../platform/db/migrations/all.ts'
import type { EncodedRow } from '../../platform/db/table-export.ts'
import { TableImport } from '../../platform/db/table-import.ts'
import type { BlobStore } from '../../platform/files/blob-store.ts'
import type { TarEntry } from '../../platform/files/tar.ts'
import { rootCauseMessage } from '../../platform/root-cause.ts'
import { currentStore } from '../../storage/file-storage.ts'
import { isFileId, relocateFiles } from '../../storage/stored-files.ts'
import { lockDatabase, lockDataDir, prepareDataDir } from '../data-dir.ts'
import { readSettings } from '../settings.ts'
import { ArchiveError, readArchive } from './archive.ts'
import { dataNames } from './data-files.ts'
import { assertEmptyTarget, assertSecretKey } from './restore-target.ts'
import { tableOf, type VerifiedArchive, verifyArchive } from './verify-archive.ts'

export interface RestoreProgress {
  /** Bytes verified so far. */
  onVerified: (bytes: number) => void
  /** Rows loaded so far. */
  onLoaded: (rows: number) => void
}

/** Holds restored files until the database is complete. */
const stagingName = 'restoring'
/** Rows of one statement. */
const rowsPerInsert = 500
/** Data files that an archive may have: nothing else is written into the data directory. */
const dataPattern =
  /^data\/(?:audit-heads\.txt|secret\.key|(?:node|unsent)-ledger-\d+|benchmarks\/(?:[\w.-]+\/)?[\w.-]+)$/
const videoPattern = /^videos\/video_[0-9a-f]+-\d+\.mp4$/

/**
 * Restores an archive into an empty data directory and an empty database. The archive is read twice: nothing is written
 * before all of it was verified, and whatever fails later is undone.
 */
export async function restoreBackup(
  config: Config,
  path: string,
  { onVerified, onLoaded }: RestoreProgress,
): Promise<VerifiedArchive> {
  const archive = await verifyArchive(path, onVerified)
  const { header } = archive
  if (!Object.hasOwn(migrations, header.schema))
    throw new ArchiveError(
      `The archive has the schema ${header.schema}, which this version does not know. Restore it with Headgate ${header.version} or a newer one.`,
    )
  assertSecretKey(config, header, header.has_secret_key ? await readSecret(path) : null)
  const { storage, store } = currentStore({ config, settings: readSettings(config) })
  const bucket = storage !== null && header.has_files ? store : null
  const isPostgres = isPostgresUrl(config.databaseUrl)
  await assertEmptyTarget(config, header, bucket)
  prepareDataDir(config.dataDir)
  const unlocks = [lockDataDir(config.dataDir), ...(isPostgres ? [] : [lockDatabase(config.databaseUrl)])]
  const restore = new Restore(config, archive, { storage, bucket, onLoaded })
  try {
    await restore.run(path)
  } finally {
    for (const unlock of unlocks) unlock()
  }
  return archive
}

async function readSecret(path: string): Promise<string> {
  for await (const { name, body } of readArchive(path))
    if (name === `data/${dataNames.secret}`)
      return Buffer.concat(await Array.fromAsync(body))
        .toString()
        .trim()
  throw new ArchiveError('The archive has no secret key although its header says so.')
}

interface RestoreParts {
  storage: Parameters<typeof relocateFiles>[1]
  /** Null when files are on the disk, or not in the archive. */
  bucket: BlobStore | null
  onLoaded: (rows: number) => void
}

class Restore {
  readonly #config: Config
  readonly #archive: VerifiedArchive
  readonly #parts: RestoreParts
  readonly #staging: string
  /** The database until it is complete; PostgreSQL has a transaction instead. */
  readonly #databaseUrl: string
  readonly #uploaded: string[] = []
  readonly #published: string[] = []
  #rows = 0

  constructor(config: Config, archive: VerifiedArchive, parts: RestoreParts) {
    this.#config = config
    this.#archive = archive
    this.#parts = parts
    this.#staging = join(config.dataDir, stagingName)
    const { databaseUrl } = config
    this.#databaseUrl = isPostgresUrl(databaseUrl) ? databaseUrl : `${databaseUrl}.restoring`
  }

  async run(path: string): Promise<void> {
    await this.#removeStaged()
    await mkdir(this.#staging)
    try {
      await this.#restoreAll(path)
    } catch (error) {
      await this.#undo()
      if (error instanceof ArchiveError || error instanceof ConfigError) throw error
      throw new ArchiveError(
        `The archive could not be restored, and nothing was changed: ${rootCauseMessage(error)}`,
      )
    } finally {
      await this.#removeStaged()
    }
  }

  async #restoreAll(path: string): Promise<void> {
    const db = openDb(this.#databaseUrl, { queryTimeoutMs: null, poolSize: 1 })
    try {
      await db.transaction().execute(async (tx) => {
        await this.#load(tx, path)
        // Before the commit: a database on PostgreSQL is never complete without its files.
        await this.#publishFiles()
      })
      if (!isPostgresUrl(this.#databaseUrl)) await checkpoint(db)
    } finally {
      await closeDb(db)
    }
    if (isPostgresUrl(this.#databaseUrl)) return
    renameSync(this.#databaseUrl, this.#config.databaseUrl)
    await syncDirectory(dirname(this.#config.databaseUrl))
  }

  async #load(tx: Db, path: string): Promise<void> {
    const { header, manifest } = this.#archive
    const tables = new TableImport(tx)
    await tables.createTables({ upTo: header.schema, unfinished: header.unfinished })
    for await (const entry of readArchive(path)) {
      const table = tableOf(entry.name)
      if (table !== null) await this.#loadRows(tables, table, entry)
      else await this.#restoreFile(entry)
    }
    if (header.has_files) await relocateFiles(tx, this.#parts.storage, manifest.deleted_files)
    await tables.finish(manifest.tables)
  }

  async #loadRows(tables: TableImport, table: string, { body }: TarEntry): Promise<void> {
    const text = Buffer.concat(await Array.fromAsync(body)).toString()
    const lines = text.split('\n').slice(0, -1)
    for (let at = 0; at < lines.length; at += rowsPerInsert) {
      const rows = lines.slice(at, at + rowsPerInsert).map((line) => JSON.parse(line) as EncodedRow)
      await tables.insert(table, rows)
      this.#rows += rows.length
      this.#parts.onLoaded(this.#rows)
    }
  }

  async #restoreFile({ name, body }: TarEntry): Promise<void> {
    const [folder = '', ...rest] = name.split('/')
    if (folder === 'files' && isFileId(rest.join('/'))) await this.#restoreContent(rest.join('/'), body)
    else if (videoPattern.test(name)) await writeStaged(join(this.#staging, name), body)
    else if (dataPattern.test(name) && !this.#isReplacedSecret(name))
      await writeStaged(join(this.#staging, ...rest), body)
  }

  /** HEADGATE_SECRET_KEY is used instead of the file. */
  #isReplacedSecret(name: string): boolean {
    return name === `data/${dataNames.secret}` && this.#config.secretKey !== null
  }

  async #restoreContent(id: string, body: TarEntry['body']): Promise<void> {
    const path = join(this.#staging, 'files', id)
    await writeStaged(path, body)
    if (!this.#parts.bucket) return
    this.#uploaded.push(id)
    await this.#parts.bucket.put(id, path)
    await rm(path, { force: true })
  }

  /** Moves what was staged to its place. */
  async #publishFiles(): Promise<void> {
    const { dataDir } = this.#config
    for (const name of await readdir(this.#staging)) {
      const target = join(dataDir, name)
      // The target was checked: it is an empty folder, or it does not exist.
      await rm(target, { recursive: true, force: true })
      await rename(join(this.#staging, name), target)
      this.#published.push(target)
    }
    await mkdir(join(dataDir, 'files'), { recursive: true })
    await syncDirectory(dataDir)
  }

  async #undo(): Promise<void> {
    for (const path of this.#published) await rm(path, { recursive: true, force: true })
    for (const id of this.#uploaded) await this.#parts.bucket?.delete(id)
  }

  /** Also what an interrupted restore has left. */
  async #removeStaged(): Promise<void> {
    await rm(this.#staging, { recursive: true, force: true })
    if (isPostgresUrl(this.#databaseUrl)) return
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${this.#databaseUrl}${suffix}`, { force: true })
  }
}

/** Moves all of the write-ahead log into the database, so that its file alone is complete. */
async function checkpoint(db: Db): Promise<void> {
  const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(db)
  if (rows[0]?.busy !== 0) throw new Error('the database is in use')
}

async function writeStaged(path: string, body: AsyncIterable<Uint8Array>): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const bytes of body) await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}
