import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Config } from '../../config.ts'
import { Vault } from '../../platform/crypto/crypto.ts'
import { closeDb, isPostgresUrl, openDb } from '../../platform/db/db.ts'
import { listTableNames } from '../../platform/db/table-export.ts'
import type { BlobStore } from '../../platform/files/blob-store.ts'
import { isKeyCheckOf } from '../bootstrap.ts'
import { secretFilePath } from '../data-dir.ts'
import { ArchiveError, type ArchiveHeader } from './archive.ts'

/** What a restore writes to, and what a server would have left in the data directory. */
const ownedNames = ['files', 'videos', 'uploads', 'containers', 'benchmarks', 'audit-heads.txt']

/** Fails unless nothing of an installation is there: a restore never replaces data. */
export async function assertEmptyTarget(
  { dataDir, databaseUrl }: Config,
  { has_secret_key }: ArchiveHeader,
  bucket: BlobStore | null,
): Promise<void> {
  const found = [
    ...ownedNames.filter((name) => hasContent(join(dataDir, name))),
    ...(has_secret_key && existsSync(secretFilePath(dataDir)) ? ['secret.key'] : []),
    ...listNames(dataDir).filter((name) => /^(?:node|unsent)-/.test(name)),
  ]
  if (found.length > 0)
    throw new ArchiveError(
      `The data directory ${dataDir} is not empty: it has ${found.join(', ')}. Move it away, or set HEADGATE_DATA_DIR to another directory.`,
    )
  if (isPostgresUrl(databaseUrl)) await assertEmptyDatabase(databaseUrl)
  else assertNoDatabase(databaseUrl)
  if (bucket) await assertEmptyBucket(bucket)
}

async function assertEmptyDatabase(url: string): Promise<void> {
  const db = openDb(url, { poolSize: 1 })
  try {
    const [table] = await listTableNames(db)
    if (table !== undefined)
      throw new ArchiveError(
        `The database is not empty: it has the table ${table}. Create another one, and set DATABASE_URL to it.`,
      )
  } finally {
    await closeDb(db)
  }
}

/** Files such as -wal and -ledger-1 belong to the database next to them. */
function assertNoDatabase(path: string): void {
  const found = listNames(dirname(path)).find(
    (name) => name === basename(path) || name.startsWith(`${basename(path)}-`),
  )
  if (found !== undefined)
    throw new ArchiveError(
      `The database ${path} is not new: ${found} exists. Move it and the files next to it away.`,
    )
}

async function assertEmptyBucket(bucket: BlobStore): Promise<void> {
  for await (const page of bucket.list()) {
    if (page.length > 0)
      throw new ArchiveError(
        'The bucket has files. Set another prefix in files.s3 of headgate.yaml; or, if they are the files of this installation, restore an archive that was written with --without-files.',
      )
  }
}

function hasContent(path: string): boolean {
  return path.endsWith('.txt') ? existsSync(path) : listNames(path).length > 0
}

function listNames(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : []
}

/** Fails unless the installation will have the secret key that encrypted the secrets in the archive. */
export function assertSecretKey(
  { dataDir, secretKey }: Config,
  header: ArchiveHeader,
  archived: string | null,
): void {
  const path = secretFilePath(dataDir)
  const stored = existsSync(path) ? readFileSync(path, 'utf8').trim() : null
  const secret = secretKey ?? archived ?? stored
  if (secret === null)
    throw new ArchiveError(
      `The archive has no secret key. Set HEADGATE_SECRET_KEY to that of the installation, or copy its secret.key to ${path}.`,
    )
  if (isKeyCheckOf(new Vault(secret), header.key_check)) return
  throw new ArchiveError(
    secretKey === null
      ? `The secret key in ${path} is not that of the archive.`
      : 'HEADGATE_SECRET_KEY is not the key that the secrets in the archive are encrypted with.',
  )
}
