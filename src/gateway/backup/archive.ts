import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { constants, createZstdDecompress } from 'node:zlib'
import { z } from 'zod'
import {
  encodeTarHeader,
  encodeTarPadding,
  readTar,
  type TarEntry,
  TarError,
  tarEnd,
} from '../../platform/files/tar.ts'
import { ZstdFrames } from '../../platform/files/zstd-frames.ts'
import { rootCauseMessage } from '../../platform/root-cause.ts'

/** The archive cannot be restored. The message is for the operator. */
export class ArchiveError extends Error {}

/** Number of the format: a reader rejects archives of a later one. */
export const archiveFormat = 1

/** Names of the first and the last entry. */
export const headerName = 'headgate-backup.json'
export const manifestName = 'manifest.json'

const headerFields = z.object({
  format: z.number(),
  version: z.string(),
  created_at: z.string(),
  database: z.enum(['sqlite', 'postgres']),
  /** The last migration that the database had. */
  schema: z.string(),
  /** The number of finished steps of migrations up to that one that were not finished. */
  unfinished: z.record(z.string(), z.number()).default({}),
  /** A text that only the secret key of the installation decrypts. */
  key_check: z.string(),
  has_secret_key: z.boolean(),
  has_files: z.boolean(),
})
export type ArchiveHeader = z.infer<typeof headerFields>

const sectionFields = z.object({ entries: z.number(), bytes: z.number(), sha256: z.string() })

const manifestFields = z.object({
  tables: z.array(z.object({ name: z.string(), rows: z.number(), sequence: z.number().nullable() })),
  /** Files that were deleted while the archive was written: their rows are in it, their bytes are not. */
  deleted_files: z.array(z.string()),
  /** Sums of the entries, by the first part of their names. */
  sections: z.record(z.string(), sectionFields),
})
export type ArchiveManifest = z.infer<typeof manifestFields>
type Section = z.infer<typeof sectionFields>

/** Sums of entries, which writer and reader compute alike. */
export class SectionSums {
  readonly #sections = new Map<string, { entries: number; bytes: number; hash: Hash }>()

  /** Returns a function that takes the bytes of the entry. */
  begin(name: string, size: number): (bytes: Uint8Array) => void {
    const key = sectionOf(name)
    const section = this.#sections.get(key) ?? { entries: 0, bytes: 0, hash: createHash('sha256') }
    this.#sections.set(key, section)
    section.entries++
    section.bytes += size
    section.hash.update(`${name}\n${size}\n`)
    return (bytes) => section.hash.update(bytes)
  }

  finish(): Record<string, Section> {
    const sections = [...this.#sections].map(([key, { entries, bytes, hash }]): [string, Section] => [
      key,
      { entries, bytes, sha256: hash.digest('hex') },
    ])
    return Object.fromEntries(sections)
  }
}

/** `tables/<name>` for rows, otherwise the first folder. */
function sectionOf(name: string): string {
  const [first = '', second = ''] = name.split('/')
  return first === 'tables' ? `${first}/${second}` : first
}

/** An entry of the archive as bytes of tar. The body must have the declared size. */
export async function* encodeEntry(
  name: string,
  size: number,
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  sums: SectionSums,
): AsyncGenerator<Uint8Array> {
  yield encodeTarHeader(name, size, Date.now())
  const add = sums.begin(name, size)
  let written = 0
  for await (const bytes of body) {
    add(bytes)
    written += bytes.length
    yield bytes
  }
  if (written !== size) throw new ArchiveError(`${name} has ${written} of ${size} bytes.`)
  yield encodeTarPadding(size)
}

export async function* encodeJsonEntry(
  name: string,
  value: ArchiveHeader | ArchiveManifest,
  sums: SectionSums,
): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(`${JSON.stringify(value, null, 2)}\n`)
  yield* encodeEntry(name, bytes.length, [bytes], sums)
  if (name === manifestName) yield tarEnd
}

/** The checksum lets the reader notice damage in any byte. */
export const compression = {
  params: { [constants.ZSTD_c_compressionLevel]: 3, [constants.ZSTD_c_checksumFlag]: 1 },
}

/** Entries in the order of the archive. A damaged or incomplete archive is an error. */
export async function* readArchive(path: string): AsyncGenerator<TarEntry> {
  const file = createReadStream(path)
  const plain = createZstdDecompress()
  const frames = new ZstdFrames()
  file.on('error', (error) => plain.destroy(error))
  file.on('data', (chunk) => frames.add(Buffer.from(chunk)))
  try {
    for await (const entry of explainErrors(path, readTar(file.pipe(plain))))
      yield { ...entry, body: explainErrors(path, entry.body) }
    if (!frames.isComplete) throw toArchiveError(path, new TarError('it ends too early'))
  } finally {
    file.destroy()
    plain.destroy()
  }
}

async function* explainErrors<T>(path: string, items: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield* items
  } catch (error) {
    throw toArchiveError(path, error)
  }
}

function toArchiveError(path: string, error: unknown): unknown {
  if (error instanceof TarError)
    return new ArchiveError(`The archive ${path} is damaged or incomplete: ${error.message}.`)
  if (isStreamError(error))
    return new ArchiveError(`The archive ${path} cannot be read: ${rootCauseMessage(error)}.`)
  return error
}

/** Errors of the file system and of the decoder have codes. */
function isStreamError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(E[A-Z]+|ZSTD_|ERR_|Z_)/.test(String(error.code))
}

export async function readHeader({ name, body }: TarEntry): Promise<ArchiveHeader> {
  const header = headerFields.safeParse(name === headerName ? await readJson(body) : null)
  if (!header.success) throw new ArchiveError('The file is not a backup of Headgate.')
  if (header.data.format > archiveFormat)
    throw new ArchiveError(
      `The archive was written by Headgate ${header.data.version}. Restore it with that version or a newer one.`,
    )
  return header.data
}

export async function readManifest(path: string, body: TarEntry['body']): Promise<ArchiveManifest> {
  const manifest = manifestFields.safeParse(await readJson(body))
  if (!manifest.success) throw new ArchiveError(`The archive ${path} is damaged: its manifest is not valid.`)
  return manifest.data
}

async function readJson(body: TarEntry['body']): Promise<unknown> {
  const text = Buffer.concat(await Array.fromAsync(body)).toString()
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
