import { existsSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress } from 'node:zlib'
import type { Kysely } from 'kysely'
import { findUnflushedSegment, waitForFlush } from '../../ledger/flush-wait.ts'
import { syncDirectory } from '../../ledger/journal-segment.ts'
import { beginSnapshot, type Db, isPostgresUrl } from '../../platform/db/db.ts'
import { describeSchema, readRecord, type SchemaDescription } from '../../platform/db/migrate/record.ts'
import { exportRows, listTables } from '../../platform/db/table-export.ts'
import type { BlobStore } from '../../platform/files/blob-store.ts'
import { version } from '../../platform/version.ts'
import { PackReader } from '../../storage/content-packs.ts'
import { storeOf } from '../../storage/file-storage.ts'
import type { StoredFile } from '../../storage/stored-files.ts'
import { encryptKeyCheck } from '../bootstrap.ts'
import { lockDatabase, secretFilePath } from '../data-dir.ts'
import type { Gateway } from '../gateway.ts'
import {
  ArchiveError,
  type ArchiveHeader,
  type ArchiveManifest,
  archiveFormat,
  compression,
  encodeEntry,
  encodeJsonEntry,
  headerName,
  manifestName,
  SectionSums,
} from './archive.ts'
import { dataNames, isMissing, listDataFiles, listVideos, openFile, readBytes } from './data-files.ts'

export interface BackupOptions {
  /** Whether secret.key of the data directory is included. */
  hasSecret: boolean
  /** Whether the bytes of files and videos are included. */
  hasFiles: boolean
  /** Called with the bytes so far, before compression. */
  onProgress: (bytes: number) => void
}

/** Time for a running server to flush its journal; it takes a quarter of a second. */
const flushTimeoutMs = 60_000
const roundsMs = 1000
/** Rows are collected up to this size: an entry of the archive has its size in front. */
const entryBytes = 4 * 1024 * 1024

/** Writes everything to one file, which has its name only when it is complete and on disk. */
export async function writeBackup(
  gateway: Gateway,
  path: string,
  options: BackupOptions,
): Promise<{ header: ArchiveHeader; manifest: ArchiveManifest }> {
  if (existsSync(path)) throw new ArchiveError(`The file ${path} exists. Choose another name.`)
  await flushJournal(gateway)
  const backup = new Backup(gateway, options)
  const partial = `${path}.part`
  const file = await open(partial, 'wx', 0o600).catch((error: unknown) => {
    throw new ArchiveError(`The file ${partial} cannot be written: ${messageOf(error)}.`)
  })
  try {
    await writeFile(file, backup.encode())
    await rename(partial, path)
    await syncDirectory(dirname(path))
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
  return backup.describe()
}

async function writeFile(file: FileHandle, chunks: AsyncGenerator<Uint8Array>): Promise<void> {
  try {
    await pipeline(Readable.from(chunks), createZstdCompress(compression), async (compressed) => {
      for await (const bytes of compressed) await file.writeFile(bytes)
    })
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Every charge that was acknowledged before the backup is in the database afterwards. */
async function flushJournal({ config: { databaseUrl }, db, ledger }: Gateway): Promise<void> {
  // Each node writes what it has acknowledged four times a second; what it cannot write is in files of the archive.
  if (isPostgresUrl(databaseUrl)) return Bun.sleep(roundsMs)
  const segment = await findUnflushedSegment(db, databaseUrl)
  if (segment === null) return
  const unlock = tryLock(databaseUrl)
  if (unlock === null) {
    if (await waitForFlush(db, segment, flushTimeoutMs)) return
    throw new ArchiveError(
      'The server has not written its journal to the database within a minute. Look for errors in its log, then try again.',
    )
  }
  // Left by a server that was killed.
  try {
    await ledger.open()
    await ledger.close()
  } finally {
    unlock()
  }
}

/** Null while a server uses the database. */
function tryLock(path: string): (() => void) | null {
  try {
    return lockDatabase(path)
  } catch {
    return null
  }
}

/** What the archive needs to know of a file: a million of them take 100 MB of memory. */
type FileEntry = Pick<StoredFile, 'id' | 'size_bytes' | 'storage'>

class Backup {
  readonly #gateway: Gateway
  readonly #options: BackupOptions
  readonly #sums = new SectionSums()
  readonly #packs: PackReader
  readonly #tables: ArchiveManifest['tables'] = []
  readonly #files: FileEntry[] = []
  readonly #deletedFiles: string[] = []
  #header: ArchiveHeader | undefined
  #manifest: ArchiveManifest | undefined

  constructor(gateway: Gateway, options: BackupOptions) {
    this.#gateway = gateway
    this.#options = options
    this.#packs = new PackReader(gateway)
  }

  describe(): { header: ArchiveHeader; manifest: ArchiveManifest } {
    if (this.#header && this.#manifest) return { header: this.#header, manifest: this.#manifest }
    throw new Error('the backup is not complete')
  }

  /** The archive before compression. */
  async *encode(): AsyncGenerator<Uint8Array> {
    let bytes = 0
    for await (const chunk of this.#encodeParts()) {
      bytes += chunk.length
      this.#options.onProgress(bytes)
      yield chunk
    }
  }

  async *#encodeParts(): AsyncGenerator<Uint8Array> {
    const { config } = this.#gateway
    this.#header = await this.#buildHeader()
    yield* encodeJsonEntry(headerName, this.#header, this.#sums)
    if (this.#header.has_secret_key)
      yield* this.#encodeFile(`data/${dataNames.secret}`, secretFilePath(config.dataDir))
    for (const { name, path } of await listDataFiles(config.dataDir))
      yield* this.#encodeFile(`data/${name}`, path)
    yield* this.#encodeTables(this.#header)
    if (this.#options.hasFiles) yield* this.#encodeFiles()
    this.#manifest = {
      tables: this.#tables,
      deleted_files: this.#deletedFiles,
      sections: this.#sums.finish(),
    }
    yield* encodeJsonEntry(manifestName, this.#manifest, new SectionSums())
  }

  async #buildHeader(): Promise<ArchiveHeader> {
    const { config, db, vault, clock } = this.#gateway
    const hasSecretFile = config.secretKey === null
    return {
      format: archiveFormat,
      version,
      created_at: new Date(clock.now()).toISOString(),
      database: isPostgresUrl(config.databaseUrl) ? 'postgres' : 'sqlite',
      ...(await readSchema(db)),
      key_check: encryptKeyCheck(vault),
      has_secret_key: hasSecretFile && this.#options.hasSecret,
      has_files: this.#options.hasFiles,
    }
  }

  /** All tables as of one moment, without blocking writers. */
  async *#encodeTables({ schema, unfinished }: SchemaDescription): AsyncGenerator<Uint8Array> {
    const snapshot = await beginSnapshot(this.#gateway.db)
    try {
      if (!Bun.deepEquals(await readSchema(snapshot), { schema, unfinished }))
        throw new ArchiveError('The database was migrated during the backup. Try again.')
      for (const { name, sequence } of await listTables(snapshot)) {
        const table = { name, rows: 0, sequence }
        this.#tables.push(table)
        yield* this.#encodeRows(snapshot, table)
      }
    } finally {
      await snapshot.rollback().execute()
    }
  }

  async *#encodeRows(snapshot: Db, table: ArchiveManifest['tables'][number]): AsyncGenerator<Uint8Array> {
    let lines: string[] = []
    let [bytes, entries] = [0, 0]
    const flush = () => {
      const body = Buffer.from(lines.join(''))
      lines = []
      bytes = 0
      const name = `tables/${table.name}/${String(++entries).padStart(6, '0')}.jsonl`
      return encodeEntry(name, body.length, [body], this.#sums)
    }
    for await (const exported of exportRows(snapshot, table.name)) {
      const line = await this.#includeContent(table.name, exported)
      if (line === null) continue
      if (table.name === 'files') this.#noteFile(line)
      lines.push(line)
      table.rows++
      bytes += line.length
      if (bytes >= entryBytes) yield* flush()
    }
    if (lines.length > 0) yield* flush()
  }

  /** A content in the bucket is part of its row in the archive, and so in the database after a restore. */
  async #includeContent(table: string, line: string): Promise<string | null> {
    if (table !== 'generation_contents' || !this.#options.hasFiles) return line
    const { pack, pack_offset, pack_length, ...row } = JSON.parse(line) as Record<string, string | number>
    if (pack === undefined) return line
    const place = { pack: String(pack), pack_offset: Number(pack_offset), pack_length: Number(pack_length) }
    const sealed_content = await this.#packs.read({ ...place, sealed_content: '' })
    return sealed_content && `${JSON.stringify({ ...row, sealed_content })}\n`
  }

  #noteFile(line: string): void {
    const { id, size_bytes, storage = null } = JSON.parse(line) as FileEntry
    this.#files.push({ id, size_bytes, storage })
  }

  async *#encodeFiles(): AsyncGenerator<Uint8Array> {
    for (const file of this.#files) {
      const body = await openContent(storeOf(this.#gateway, file), file.id)
      if (body === null) this.#deletedFiles.push(file.id)
      else yield* encodeEntry(`files/${file.id}`, file.size_bytes, body, this.#sums)
    }
    for (const { name, path } of await listVideos(this.#gateway.config.dataDir))
      yield* this.#encodeFile(`videos/${name}`, path)
  }

  /** A file that is gone by now is omitted. */
  async *#encodeFile(name: string, path: string): AsyncGenerator<Uint8Array> {
    const opened = await openFile(path)
    if (opened === null) return
    try {
      yield* encodeEntry(name, opened.size, readBytes(opened.file, opened.size), this.#sums)
    } finally {
      await opened.file.close()
    }
  }
}

/** Null if the bytes are gone: files are not locked between the list and the read. */
async function openContent(store: BlobStore, id: string): Promise<AsyncIterable<Uint8Array> | null> {
  const content = await store.read(id)
  if (content === null) return null
  const chunks = (content instanceof Blob ? content.stream() : content)[Symbol.asyncIterator]()
  const first = await chunks.next().catch((error: unknown) => {
    if (isMissing(error)) return null
    throw error
  })
  return first && continueFrom(first, chunks)
}

async function* continueFrom(
  first: IteratorResult<Uint8Array>,
  chunks: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for (let chunk = first; !chunk.done; chunk = await chunks.next()) yield chunk.value
}

async function readSchema(db: Db): Promise<SchemaDescription> {
  return describeSchema(await readRecord(db as Kysely<unknown>))
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
