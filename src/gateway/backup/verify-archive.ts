import {
  ArchiveError,
  type ArchiveHeader,
  type ArchiveManifest,
  manifestName,
  readArchive,
  readHeader,
  readManifest,
  SectionSums,
} from './archive.ts'

export interface VerifiedArchive {
  header: ArchiveHeader
  manifest: ArchiveManifest
}

/** Reads all of an archive and compares it with its manifest. Nothing is restored before this has succeeded. */
export async function verifyArchive(
  path: string,
  onProgress: (bytes: number) => void,
): Promise<VerifiedArchive> {
  const sums = new SectionSums()
  const rows = new Map<string, number>()
  let header: ArchiveHeader | undefined
  let manifest: ArchiveManifest | undefined
  let total = 0
  for await (const entry of readArchive(path)) {
    if (manifest)
      throw new ArchiveError(`The archive ${path} is damaged: ${entry.name} follows its manifest.`)
    const { name, size } = entry
    if (name === manifestName) {
      manifest = await readManifest(path, entry.body)
      continue
    }
    const add = sums.begin(name, size)
    const body = observe(entry.body, (bytes) => {
      add(bytes)
      total += bytes.length
      onProgress(total)
    })
    if (!header) header = await readHeader({ ...entry, body })
    else await countRows(name, body, rows)
  }
  if (!header || !manifest)
    throw new ArchiveError(`The archive ${path} is incomplete: its manifest is missing.`)
  compare(path, manifest, sums, rows)
  return { header, manifest }
}

async function* observe(
  body: AsyncGenerator<Uint8Array>,
  onBytes: (bytes: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  for await (const bytes of body) {
    onBytes(bytes)
    yield bytes
  }
}

const lineEnd = 0x0a

async function countRows(
  name: string,
  body: AsyncGenerator<Uint8Array>,
  rows: Map<string, number>,
): Promise<void> {
  const table = tableOf(name)
  let lines = 0
  for await (const bytes of body) if (table !== null) lines += countLineEnds(bytes)
  if (table !== null) rows.set(table, (rows.get(table) ?? 0) + lines)
}

function countLineEnds(bytes: Uint8Array): number {
  let count = 0
  for (let at = bytes.indexOf(lineEnd); at >= 0; at = bytes.indexOf(lineEnd, at + 1)) count++
  return count
}

/** The table that an entry has rows of; null if it has none. */
export function tableOf(name: string): string | null {
  return /^tables\/(\w+)\/\d+\.jsonl$/.exec(name)?.[1] ?? null
}

function compare(
  path: string,
  manifest: ArchiveManifest,
  sums: SectionSums,
  rows: ReadonlyMap<string, number>,
): void {
  const found = sums.finish()
  const names = new Set([...Object.keys(found), ...Object.keys(manifest.sections)])
  for (const name of names) {
    if (found[name]?.sha256 !== manifest.sections[name]?.sha256)
      throw new ArchiveError(`The archive ${path} is damaged: the checksum of ${name} does not match.`)
  }
  for (const table of manifest.tables) {
    const count = rows.get(table.name) ?? 0
    if (count !== table.rows)
      throw new ArchiveError(
        `The archive ${path} is damaged: ${table.name} has ${count} of ${table.rows} rows.`,
      )
  }
}
