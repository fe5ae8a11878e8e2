import { Command, Option } from 'commander'
import { type ImportOutcome, importKeys } from '../../api/identity/keys/import-keys.ts'
import type { ImportedKey } from '../../api/identity/keys/imported-key.ts'
import {
  type KeyFileFormat,
  type KeyLine,
  keyFileFormats,
  parseKeyFile,
} from '../../api/imports/key-file/key-file.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Scope } from '../../identity/permissions/grant.ts'
import { dryRun } from '../../platform/db/dry-run.ts'
import {
  type CommandResult,
  type CommandRunner,
  type OrgOption,
  orgFlag,
  readTextFile,
  resolveOrganization,
  transactAsCommand,
} from '../command.ts'

interface ImportOptions extends OrgOption {
  dryRun?: boolean
  allowWeak?: boolean
  format?: KeyFileFormat
}

/** The operator may import everywhere. */
export const operatorScope: Scope = {
  permission: 'keys:write',
  everywhere: true,
  workspaceIds: new Set(),
  own: null,
}

export function importKeysCommand(run: CommandRunner): Command {
  return new Command('import')
    .description('import keys that were issued elsewhere, so that clients keep them')
    .argument('<file>', 'CSV or JSON Lines with the fields of POST /keys/import; - for standard input')
    .option('--dry-run', 'print what would happen, and change nothing')
    .option('--allow-weak', 'accept secrets that could be guessed')
    .addOption(
      new Option('--format <format>', 'format of the file (default: by its extension)').choices(
        keyFileFormats,
      ),
    )
    .option(...orgFlag)
    .action((file: string, options: ImportOptions) => run((gateway) => runImport(gateway, file, options)))
}

async function runImport(gateway: Gateway, file: string, options: ImportOptions): Promise<CommandResult> {
  const { id: organizationId } = await resolveOrganization(gateway, options.org)
  const format = options.format ?? (/\.csv$/i.test(file) ? 'csv' : 'jsonl')
  const lines = parseKeyFile(await readTextFile(file), format)
  const isDryRun = options.dryRun ?? false
  const outcomes = await dryRun<ImportOutcome[]>(isDryRun, (finish) =>
    transactAsCommand(gateway, organizationId, async (tx, record) => {
      const input = { gateway, tx, record, organizationId, scope: operatorScope }
      return finish(await importKeys({ ...input, allowWeak: options.allowWeak ?? false }, listKeys(lines)))
    }),
  )
  return describeOutcomes(lines, outcomes, isDryRun)
}

function listKeys(lines: readonly KeyLine[]): ImportedKey[] {
  return lines.flatMap((line) => ('key' in line ? [line.key] : []))
}

function describeOutcomes(
  lines: readonly KeyLine[],
  outcomes: readonly ImportOutcome[],
  isDryRun: boolean,
): CommandResult {
  const remaining = outcomes.values()
  const keys = lines.map((line) => {
    if ('problem' in line) {
      const { name, problem } = line
      return { line: line.line, outcome: 'rejected' as const, hash: null, name, message: problem }
    }
    const { value } = remaining.next()
    if (!value) throw new Error('a key of the file has no outcome')
    return { line: line.line, ...value }
  })
  const count = (outcome: ImportOutcome['outcome']) => keys.filter((key) => key.outcome === outcome).length
  const counts = { created: count('created'), existing: count('existing'), rejected: count('rejected') }
  const rejected = keys.flatMap(({ line, outcome, name, message }) =>
    outcome === 'rejected' ? [`Line ${line}  ${name || '(no name)'}: ${message}`] : [],
  )
  const summary = `${counts.created} created, ${counts.existing} existing, ${counts.rejected} rejected.`
  const text = [...rejected, isDryRun ? `Dry run, nothing was changed: ${summary}` : summary].join('\n')
  return {
    value: { dry_run: isDryRun, ...counts, keys },
    text,
    ...(counts.rejected > 0 && { exitCode: 1 }),
  }
}
