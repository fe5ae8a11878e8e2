import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { Command, InvalidArgumentError, Option } from 'commander'
import type { Gateway } from '../gateway/gateway.ts'
import { installationChain } from '../governance/audit/chain.ts'
import { type ExportFormat, exportEntries, exportFormats } from '../governance/audit/export.ts'
import { formatHead, headsFilePath, parseHead, readHeadsFile } from '../governance/audit/heads-file.ts'
import { type ChainReport, type ExpectedHead, verifyChains } from '../governance/audit/verify.ts'
import { isUtcTimestamp } from '../platform/time/time.ts'
import {
  type CommandResult,
  type CommandRunner,
  type OrgOption,
  orgFlag,
  resolveOrganization,
  transactAsCommand,
  UsageError,
} from './command.ts'
import { ProgressLine } from './progress.ts'

interface CheckOptions {
  expect: ExpectedHead[]
  heads: string[]
}

export function checkAuditCommand(run: CommandRunner): Command {
  return new Command('check-audit')
    .description('verify every chain of the audit log and print its head (safe while the server runs)')
    .option(
      '--expect <chain:seq:hash>',
      'a head that an earlier run printed: it must still be part of its chain; repeatable',
      collectHead,
      [],
    )
    .option(
      '--heads <file>',
      'the file audit-heads.txt of another node, besides that of this data directory; repeatable',
      (path: string, previous: string[]) => [...previous, path],
      [],
    )
    .action((options: CheckOptions) => run((gateway) => checkAudit(gateway, options)))
}

interface ExportOptions extends OrgOption {
  output: string
  format: ExportFormat
  installation?: boolean
  action?: string
  from?: string
  to?: string
}

const installationOption = new Option(
  '--installation',
  'events that belong to no organization, such as the start of the server',
).conflicts('org')

export function auditCommand(run: CommandRunner): Command {
  const audit = new Command('audit').description('work with the audit log')
  audit
    .command('export')
    .description('write the audit log of an organization to a file, newest first')
    .requiredOption('--output <file>', 'a file that does not exist yet')
    .addOption(new Option('--format <format>').choices(exportFormats).default('jsonl'))
    .addOption(installationOption)
    .option('--action <action>', 'only entries with this action, such as key.update')
    .option('--from <time>', 'in UTC with seconds, such as 2027-01-31T23:59:59Z', parseMoment)
    .option('--to <time>', 'exclusive', parseMoment)
    .option(...orgFlag)
    .action((options: ExportOptions) => run((gateway) => runExport(gateway, options)))
  return audit
}

async function runExport(gateway: Gateway, options: ExportOptions): Promise<CommandResult> {
  const { output, format, installation, org, ...filters } = options
  const chainId = installation ? installationChain : (await resolveOrganization(gateway, org)).id
  const { action, from = null, to = null } = filters
  await transactAsCommand(gateway, installation ? null : chainId, async (_tx, record) => {
    record({
      action: 'audit.export',
      target: { type: 'audit', id: chainId },
      details: { format, ...filters },
    })
  })
  const progress = new ProgressLine('entries exported')
  let entries = 0
  const selection = { chainId, from, to, ...(action !== undefined && { action: [action] }) }
  const chunks = exportEntries(gateway.db, selection, format, (count) => {
    entries = count
    progress.update(count)
  })
  await writeFile(output, chunks)
  progress.end()
  return { value: { file: output, entries }, text: `Wrote ${entries} entries to ${output}.` }
}

/** Writes a file that other users cannot read: entries name members and addresses. */
async function writeFile(path: string, chunks: AsyncIterable<string>): Promise<void> {
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600 })
  try {
    await once(file, 'open')
    for await (const chunk of chunks) if (!file.write(chunk)) await once(file, 'drain')
    file.end()
    await once(file, 'finish')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new UsageError(`The file ${path} cannot be written: ${reason}.`)
  }
}

function parseMoment(text: string): string {
  if (isUtcTimestamp(text)) return new Date(text).toISOString()
  throw new InvalidArgumentError('It must be a UTC time with seconds, such as 2027-01-31T23:59:59Z.')
}

/** Exit code 1 when a chain is broken. */
export async function checkAudit(
  gateway: Gateway,
  { expect, heads }: CheckOptions = { expect: [], heads: [] },
): Promise<CommandResult> {
  const files = await readHeadsFiles(gateway, heads)
  const expected = [...expect, ...files.flatMap(({ heads }) => heads)]
  const progress = new ProgressLine('entries verified')
  const reports: ChainReport[] = []
  for await (const report of verifyChains(gateway, expected, (count) => progress.update(count)))
    reports.push(report)
  progress.end()
  const lines = [...reports.map(formatReport), ...files.map(formatFile)]
  const isSound = reports.every(({ problem }) => problem === null)
  if (!isSound) throw new UsageError(`The audit log is broken.\n${lines.join('\n')}`)
  return {
    value: {
      sound: isSound,
      chains: reports,
      heads_files: files.map(({ path, heads }) => ({ path, heads: heads.length })),
    },
    text: ['The audit log is complete.', ...lines].join('\n'),
  }
}

function formatReport({ chain_id, seq, hash, first_seq, entries, problem }: ChainReport): string {
  if (problem !== null) return `  WRONG ${chain_id}: ${problem}`
  const since = first_seq > 1 ? `, from ${first_seq}` : ''
  return `  ok    ${formatHead({ chain_id, seq, hash })} (${entries} entries${since})`
}

interface HeadsFile {
  path: string
  heads: ExpectedHead[]
}

/** Other files must exist. That of the data directory does not before the first minute of a server. */
async function readHeadsFiles({ config }: Gateway, others: string[]): Promise<HeadsFile[]> {
  const files: HeadsFile[] = []
  for (const path of [headsFilePath(config.dataDir), ...others]) {
    const heads = await readHeadsFile(path).catch((error: unknown) => {
      throw new UsageError(error instanceof Error ? error.message : String(error))
    })
    if (heads === null && others.includes(path)) throw new UsageError(`The file ${path} does not exist.`)
    files.push({ path, heads: (heads ?? []).map((head) => ({ ...head, mayBeDeleted: true })) })
  }
  return files
}

function formatFile({ path, heads }: HeadsFile): string {
  if (heads.length === 0) return `  note  ${path} has no heads: a restored backup would not be noticed`
  return `  file  ${path} (${heads.length} heads compared)`
}

function collectHead(text: string, previous: ExpectedHead[]): ExpectedHead[] {
  const head = parseHead(text)
  if (head === null) throw new InvalidArgumentError('It must be chain:seq:hash, as check-audit prints it.')
  return [...previous, head]
}
