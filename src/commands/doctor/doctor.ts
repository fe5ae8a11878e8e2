import { Command } from 'commander'
import type { Environment } from '../../config.ts'
import { closeDb } from '../../platform/db/db.ts'
import type { CommandResult } from '../command.ts'
import { checkCertificateFiles, checkPublicCertificate } from './certificates.ts'
import { type CheckName, type CheckResult, checkNames, skipped, withErrors } from './check-result.ts'
import { type Configuration, checkConfiguration } from './configuration.ts'
import { type CheckedDatabase, checkDatabase } from './database.ts'
import { checkClock, checkDisk } from './machine.ts'
import { checkProviders, testProviders } from './providers.ts'
import { checkAuditLog, checkLedgerRecords } from './records.ts'
import { checkServices } from './services.ts'

export interface DiagnosisOptions {
  /** Whether requests may be sent to providers and to the public URL. */
  isOnline: boolean
  variables?: Environment
}

export function doctorCommand(print: (result: CommandResult) => void): Command {
  return new Command('doctor')
    .description(
      'check the whole installation and print what to do; changes nothing (safe while the server runs)',
    )
    .option(
      '--online',
      'also send a request of a few tokens to every provider, and read the certificate of public_url',
    )
    .addHelpText('after', `\nChecks: ${checkNames.join(', ')}. The exit code is 1 if one has failed.`)
    .action(async ({ online = false }: { online?: boolean }) =>
      print(formatDiagnosis(await diagnose({ isOnline: online }))),
    )
}

/** Runs every check whose requirements are met. */
export async function diagnose({ isOnline, variables }: DiagnosisOptions): Promise<CheckResult[]> {
  const configuration = await checkConfiguration(variables)
  const { config, results } = configuration
  if (config === null)
    return [...results, ...checkNames.slice(1).map((name) => skipped(name, 'The configuration is unknown.'))]
  const database = await checkDatabase(config)
  try {
    const contents = database.isMigrated ? database.db : null
    return [
      ...results,
      ...database.results,
      ...(await withErrors('services', () => checkServices(config, configuration.settings))),
      ...(await withErrors('clock', () => checkClock(contents))),
      ...(await withErrors('disk', () => checkDisk(config))),
      ...(await withErrors('providers', () => diagnoseProviders(configuration, database, isOnline))),
      ...(await withErrors('certificates', () => diagnoseCertificates(configuration, isOnline))),
      ...(await withErrors('ledger', () =>
        contents ? checkLedgerRecords(contents) : [skippedWithoutTables('ledger')],
      )),
      ...(await withErrors('audit log', () =>
        contents && database.vault
          ? checkAuditLog(contents, database.vault, config)
          : [skippedWithoutTables('audit log')],
      )),
    ]
  } finally {
    if (database.db) await closeDb(database.db)
  }
}

function skippedWithoutTables(name: CheckName): CheckResult {
  return skipped(name, 'There is no database of this version that can be read with this secret key.')
}

async function diagnoseProviders(
  { config, settings }: Configuration,
  { db, vault, isMigrated, results }: CheckedDatabase,
  isOnline: boolean,
): Promise<CheckResult[]> {
  if (config === null || settings === null) return [skipped('providers', 'headgate.yaml cannot be used.')]
  const stored = db && vault && isMigrated ? { db, vault } : null
  const offline = await checkProviders({ config, settings, stored })
  if (!isOnline) return offline
  // The test opens the whole gateway, which would migrate or create a database that is not as it has to be.
  if (stored === null || results.some(({ status }) => status !== 'ok'))
    return [...offline, skipped('providers', 'They are not tested before the database is in order.')]
  return [...offline, ...(await testProviders(config))]
}

async function diagnoseCertificates(
  { config, settings }: Configuration,
  isOnline: boolean,
): Promise<CheckResult[]> {
  const files = config ? checkCertificateFiles(config) : []
  return isOnline ? [...files, ...(await checkPublicCertificate(settings?.public_url))] : files
}

/** Exit code 1 when a check has failed. */
export function formatDiagnosis(results: readonly CheckResult[]): CommandResult {
  const count = (status: CheckResult['status']) => results.filter((result) => result.status === status).length
  const [failures, warnings] = [count('failed'), count('warning')]
  const sections = checkNames.map((name) =>
    [name, ...results.filter(({ check }) => check === name).flatMap(formatResult)].join('\n'),
  )
  const summary = failures + warnings === 0 ? 'Nothing to do.' : `Failed: ${failures}. Warnings: ${warnings}.`
  return {
    value: { sound: failures === 0, failed: failures, warnings, results },
    text: [...sections, summary].join('\n'),
    exitCode: failures === 0 ? 0 : 1,
  }
}

const labels = { ok: 'ok', warning: 'warning', failed: 'FAILED', skipped: 'skipped' }

function formatResult({ status, message, remedy }: CheckResult): string[] {
  const line = `  ${labels[status].padEnd(8)} ${message}`
  return remedy === null ? [line] : [line, `           ${remedy}`]
}
