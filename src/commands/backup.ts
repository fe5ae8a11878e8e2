import { Command } from 'commander'
import type { Config } from '../config.ts'
import { ArchiveError, type ArchiveManifest } from '../gateway/backup/archive.ts'
import { verifyArchive } from '../gateway/backup/verify-archive.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { loadConfig } from '../gateway/secret-managers/resolve.ts'
import { checkAudit } from './audit.ts'
import {
  type CommandResult,
  type CommandRunner,
  transactAsCommand,
  UsageError,
  withGateway,
} from './command.ts'
import { checkLedgerInvariants } from './ledger.ts'
import { ProgressLine } from './progress.ts'

interface BackupFlags {
  secret: boolean
  files: boolean
}

export function backupCommand(run: CommandRunner): Command {
  return new Command('backup')
    .description('write one archive of everything: database, files, secret key (safe while the server runs)')
    .argument('<file>', 'a file that does not exist yet, such as headgate.tar.zst')
    .option(
      '--without-secret',
      'omit secret.key, without which the secrets in the archive cannot be decrypted',
    )
    .option('--without-files', 'omit the bytes of uploaded files and videos, if they are backed up elsewhere')
    .action((path: string, flags: { withoutSecret?: boolean; withoutFiles?: boolean }) =>
      run((gateway) =>
        runBackup(gateway, path, { secret: !flags.withoutSecret, files: !flags.withoutFiles }),
      ),
    )
}

export function restoreCommand(print: (result: CommandResult) => void): Command {
  return new Command('restore')
    .description('restore an archive into an empty data directory and an empty database, then verify both')
    .argument('<file>', 'an archive that backup has written')
    .option('--verify-only', 'read the whole archive and compare its checksums; restore nothing')
    .action(async (path: string, { verifyOnly = false }: { verifyOnly?: boolean }) =>
      print(
        await withArchiveErrors(() =>
          verifyOnly ? runVerify(path) : loadConfig().then((config) => runRestore(config, path)),
        ),
      ),
    )
}

async function runBackup(
  gateway: Gateway,
  path: string,
  { secret, files }: BackupFlags,
): Promise<CommandResult> {
  // Before the backup, so that it is part of it.
  await transactAsCommand(gateway, null, async (_tx, record) => {
    record({
      action: 'backup.create',
      target: { type: 'backup', id: 'archive' },
      details: { secret_key: secret && gateway.config.secretKey === null, files },
    })
  })
  const { writeBackup } = await import('../gateway/backup/backup.ts')
  const progress = new ProgressLine('MB archived')
  const { header, manifest } = await withArchiveErrors(() =>
    writeBackup(gateway, path, {
      hasSecret: secret,
      hasFiles: files,
      onProgress: (bytes) => progress.update(toMegabytes(bytes)),
    }),
  )
  progress.end()
  const value = { file: path, bytes: Bun.file(path).size, ...header, ...summarize(manifest) }
  const lines = [`Wrote ${path}: ${describe(manifest)}.`, describeSecret(header.has_secret_key)]
  if (!files) lines.push('The bytes of files and videos are not in it.')
  if (manifest.deleted_files.length > 0)
    lines.push(
      `${manifest.deleted_files.length} files have no bytes: they were deleted meanwhile, or are missing in the store.`,
    )
  return { value, text: lines.join('\n') }
}

function describeSecret(hasSecret: boolean): string {
  return hasSecret
    ? 'It has the secret key: every user who can read it can decrypt the secrets in it.'
    : 'It does not have the secret key. Store the key elsewhere: without it, the secrets cannot be decrypted.'
}

async function runVerify(path: string): Promise<CommandResult> {
  const progress = new ProgressLine('MB verified')
  const { header, manifest } = await verifyArchive(path, (bytes) => progress.update(toMegabytes(bytes)))
  progress.end()
  const { version, created_at } = header
  return {
    value: { file: path, ...header, ...summarize(manifest) },
    text: `The archive is complete: ${describe(manifest)}, written by Headgate ${version} at ${created_at}.`,
  }
}

async function runRestore(config: Config, path: string): Promise<CommandResult> {
  // Imported here, so that a mistake on the command line is reported without loading the server.
  const { restoreBackup } = await import('../gateway/backup/restore.ts')
  const verified = new ProgressLine('MB verified')
  const loaded = new ProgressLine('rows restored')
  const { header, manifest } = await restoreBackup(config, path, {
    onVerified: (bytes) => verified.update(toMegabytes(bytes)),
    onLoaded: (rows) => loaded.update(rows),
  })
  loaded.end()
  return withGateway(async (gateway) => {
    await transactAsCommand(gateway, null, async (_tx, record) => {
      record({
        action: 'backup.restore',
        target: { type: 'backup', id: 'archive' },
        details: { created_at: header.created_at, version: header.version },
      })
    })
    const [ledger, audit] = [await checkLedgerInvariants(gateway), await checkAudit(gateway)]
    const text = [`Restored ${describe(manifest)}, as of ${header.created_at}.`, ledger.text, audit.text]
    const value = { ...header, ...summarize(manifest), ledger: ledger.value, audit: audit.value }
    return { value, text: text.join('\n') }
  })
}

/** Expected errors, which are shown in one sentence. */
async function withArchiveErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ArchiveError) throw new UsageError(error.message)
    throw error
  }
}

function summarize({ tables, sections, deleted_files }: ArchiveManifest) {
  return {
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    tables: tables.length,
    files: sections.files?.entries ?? 0,
    videos: sections.videos?.entries ?? 0,
    files_without_bytes: deleted_files.length,
  }
}

function describe(manifest: ArchiveManifest): string {
  const { rows, tables, files, videos } = summarize(manifest)
  return `${rows.toLocaleString('en')} rows of ${tables} tables, ${files} files and ${videos} videos`
}

function toMegabytes(bytes: number): number {
  return Math.floor(bytes / 1e6)
}
