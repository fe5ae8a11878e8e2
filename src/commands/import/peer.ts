import { basename } from 'node:path'
import { Command } from 'commander'
import { readDocument, toDatabaseDocument } from '../../api/imports/documents.ts'
import type { ImportPlan } from '../../api/imports/import-plan.ts'
import { parseVariables } from '../../api/imports/litellm/variables.ts'
import { createPeerContext, type Peer } from '../../api/imports/peer.ts'
import { readPostgresTables } from '../../api/imports/postgres-tables.ts'
import { type ImportReport, runImport } from '../../api/imports/run-import.ts'
import { type ImportDocument, SourceError, type Variables } from '../../api/imports/source.ts'
import { tryLockDatabase } from '../../gateway/data-dir.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { isPostgresUrl } from '../../platform/db/db.ts'
import {
  type CommandResult,
  type CommandRunner,
  type OrgOption,
  orgFlag,
  readFileBytes,
  readTextFile,
  resolveOrganization,
  transactAsCommand,
  UsageError,
} from '../command.ts'
import { operatorScope } from './keys.ts'
import { canPrompt, promptSecret } from './secret-prompt.ts'

interface ImportOptions extends OrgOption {
  database?: string
  env?: string
  secretEnv?: string
  plan?: boolean
  apply?: boolean
}

export function importPeerCommand(peer: Peer, run: CommandRunner): Command {
  const { name, reads, tables, secret } = peer
  const command = new Command(name)
    .description(`import ${reads}`)
    .argument('[files...]', 'files with its configuration; - for standard input')
    .option('--plan', 'print what would happen, and change nothing (default)')
    .option('--apply', 'make the changes, in one transaction')
    .option('--env <file>', 'file of NAME=value lines for variables it refers to, besides the environment')
    .option(...orgFlag)
  if (Object.keys(tables).length > 0)
    command.option('--database <url>', 'address of its PostgreSQL, which is only read')
  if (secret) command.option(`--${secret.flag} <name>`, `environment variable with ${secret.description}`)
  const secretOption = secret?.flag.replaceAll(/-(\w)/g, (_whole, letter: string) => letter.toUpperCase())
  return command.action((files: string[], options: ImportOptions & Record<string, unknown>) => {
    const secretEnv = secretOption === undefined ? undefined : options[secretOption]
    return run((gateway) =>
      runImportCommand(gateway, peer, files, {
        ...options,
        ...(typeof secretEnv === 'string' && { secretEnv }),
      }),
    )
  })
}

async function runImportCommand(
  gateway: Gateway,
  peer: Peer,
  files: readonly string[],
  options: ImportOptions,
): Promise<CommandResult> {
  if (options.plan && options.apply) throw new UsageError('--plan and --apply exclude each other.')
  if (files.length === 0 && options.database === undefined)
    throw new UsageError(
      Object.keys(peer.tables).length > 0 ? 'Name a file, --database, or both.' : 'Name a file.',
    )
  const { id: organizationId } = await resolveOrganization(gateway, options.org)
  const variables: Variables = {
    ...gateway.config.environment,
    ...(options.env !== undefined && parseVariables(await readTextFile(options.env))),
  }
  const secret = options.secretEnv === undefined ? undefined : requireVariable(variables, options.secretEnv)
  try {
    const documents = await readDocuments(peer, files, options.database)
    const translate = (known: string | undefined) =>
      peer.translate(documents, createPeerContext(gateway, { variables, secret: known }))
    const first = translate(secret)
    const entered = await promptIfNeeded(peer, first, files)
    const plan = entered === null ? first : translate(entered)
    return await withMeters(gateway, async (canUpdateSpend) =>
      describeReport(
        await runImport({
          gateway,
          organizationId,
          scope: operatorScope,
          plan,
          isPlan: options.apply !== true,
          canUpdateSpend,
          transact: (work) => transactAsCommand(gateway, organizationId, work),
        }),
      ),
    )
  } catch (error) {
    if (error instanceof SourceError) throw new UsageError(error.message)
    throw error
  }
}

/** Reads the secret that records of the source are encrypted with; null without a terminal. */
async function promptIfNeeded(
  { title, secret }: Peer,
  { skipped }: ImportPlan,
  files: readonly string[],
): Promise<string | null> {
  const encrypted = skipped.filter(({ needsSecret }) => needsSecret).length
  if (encrypted === 0 || !secret || !canPrompt(files)) return null
  return promptSecret(
    `${title} has encrypted ${encrypted} of its records. Enter ${secret.description}, or nothing to skip them: `,
  )
}

function requireVariable(variables: Variables, name: string): string {
  const value = variables[name]
  if (value) return value
  throw new UsageError(`The environment variable ${name} is not set.`)
}

async function readDocuments(
  peer: Peer,
  files: readonly string[],
  database: string | undefined,
): Promise<ImportDocument[]> {
  const documents: ImportDocument[] = []
  for (const file of files)
    documents.push(
      await readDocument(
        { name: basename(file), bytes: await readFileBytes(file) },
        Object.keys(peer.tables),
      ),
    )
  if (database !== undefined)
    documents.push(toDatabaseDocument(await readPostgresTables(database, peer.tables)))
  return documents
}

/** A server with SQLite has the meters in memory. Without one, none can start until the import is done. */
async function withMeters<T>(gateway: Gateway, work: (canUpdateSpend: boolean) => Promise<T>): Promise<T> {
  const { databaseUrl } = gateway.config
  if (isPostgresUrl(databaseUrl)) return work(true)
  const unlock = tryLockDatabase(databaseUrl)
  try {
    return await work(unlock !== undefined)
  } finally {
    unlock?.()
  }
}

/** Lists what was created and what was not, with a line for each item that is worth reading. */
function describeReport(report: ImportReport): CommandResult {
  const { plan, created, updated, existing, skipped, items } = report
  const lines = items.map(({ kind, name, outcome, message }) =>
    `${outcome.padEnd(8)}  ${kind.padEnd(10)}  ${name}${message === null ? '' : `: ${message}`}`.trimEnd(),
  )
  const summary = `${created} created, ${updated} updated, ${existing} existing, ${skipped} skipped.`
  const last = plan ? `Plan, nothing was changed: ${summary} Run it with --apply.` : summary
  return { value: report, text: [...lines, last].join('\n') }
}
