import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from 'commander'
import { type Environment, withSecretFiles } from '../config.ts'
import { loadEnvironment } from '../gateway/secret-managers/resolve.ts'
import { recordKindNames } from '../identity/record-kinds.ts'
import { type CommandResult, UsageError } from './command.ts'
import { applyPlan } from './configuration/apply.ts'
import { type ApiClient, createApiClient } from './configuration/client.ts'
import { readDocuments } from './configuration/documents.ts'
import { exportState } from './configuration/export.ts'
import { loadFields } from './configuration/fields.ts'
import { buildPlan } from './configuration/plan.ts'
import { countChanges, describeOutcome, describePlan, toPlanValue } from './configuration/report.ts'
import { buildJsonSchema } from './configuration/schema.ts'
import { appendSecret } from './configuration/secrets-file.ts'
import { State } from './configuration/state.ts'
import type { Plan } from './configuration/step.ts'

type Print = (result: CommandResult) => void

interface ServerOptions {
  url?: string
}

interface FileOptions extends ServerOptions {
  file: string[]
  set: string
  prune?: boolean
  takeOver?: boolean
}

interface ApplyOptions extends FileOptions {
  dryRun?: boolean
  secretsOut?: string
}

/** `diff` has found differences. */
const differencesExitCode = 2

const serverNote =
  '\nThe server is that of --url or HEADGATE_URL, and the management key HEADGATE_MANAGEMENT_KEY, HEADGATE_MANAGEMENT_KEY_FILE or a secret manager has it.'

export function configurationCommands(print: Print): Command[] {
  return [applyCommand(print), diffCommand(print), exportCommand(print), schemaCommand()]
}

function withFileOptions(command: Command): Command {
  return command
    .requiredOption('-f, --file <path...>', 'files, and folders of files; - is standard input')
    .option('--set <name>', 'the set that the files belong to, which owns their records', 'default')
    .option('--prune', 'also delete what the set declared before and the files do not have any more')
    .option('--take-over', 'accept records that another set declares')
    .option('--url <url>', 'address of the server')
}

function applyCommand(print: Print): Command {
  return withFileOptions(new Command('apply'))
    .description('make the records of an organization as configuration files declare them')
    .option('--dry-run', 'print what would be done, and change nothing')
    .option('--secrets-out <path>', 'a file to which secrets of new keys are appended, as JSON lines')
    .addHelpText('after', `${serverNote}\nSee docs/configuration-as-code.md.`)
    .action(async (options: ApplyOptions) => print(await runApply(options)))
}

function diffCommand(print: Print): Command {
  return withFileOptions(new Command('diff'))
    .description(
      'print what apply would change; the exit code is 0 for nothing, 2 for something, 1 for an error',
    )
    .addHelpText('after', serverNote)
    .action(async (options: FileOptions) => {
      const { plan } = await preparePlan(options, await loadEnvironment(), false)
      const exitCode = countChanges(plan, options.prune === true) > 0 ? differencesExitCode : 0
      print({ ...describePlan(plan, options.prune === true), exitCode })
    })
}

function exportCommand(print: Print): Command {
  return new Command('export')
    .description('write all records of an organization as configuration files, without secrets')
    .requiredOption('--dir <path>', 'the folder to write to; - prints one file')
    .option('--url <url>', 'address of the server')
    .addHelpText('after', serverNote)
    .action(async (options: ServerOptions & { dir: string }) => {
      const result = await runExport(options)
      if (result) print(result)
    })
}

function schemaCommand(): Command {
  return new Command('schema')
    .description('print the JSON Schema of configuration files')
    .action(async () => {
      process.stdout.write(formatSchema(buildJsonSchema(await loadFields())))
    })
}

function formatSchema(schema: object): string {
  return `${JSON.stringify(schema, null, 2)}\n`
}

function connect({ url }: ServerOptions, environment: Environment): ApiClient {
  const address = url ?? environment.HEADGATE_URL
  const key = environment.HEADGATE_MANAGEMENT_KEY
  if (!address) throw new UsageError('Name the server with --url or HEADGATE_URL.')
  if (!key) throw new UsageError('Set HEADGATE_MANAGEMENT_KEY to a management key of the organization.')
  return createApiClient(address, key)
}

async function preparePlan(options: FileOptions, variables: Environment, needsSecrets: boolean) {
  const environment = withSecretFiles(variables)
  const documents = await readDocuments(options.file)
  const fieldsOf = await loadFields()
  const state = new State(connect(options, environment), fieldsOf)
  await state.load(new Set(documents.map(({ kind }) => kind)), options.set)
  const plan = buildPlan(documents, state, fieldsOf, {
    set: options.set,
    takeOver: options.takeOver === true,
    ...{ environment, needsSecrets },
  })
  if (plan.problems.length > 0) throw new UsageError(plan.problems.join('\n'))
  return { plan, state, fieldsOf }
}

async function runApply(options: ApplyOptions): Promise<CommandResult> {
  const { plan, state, fieldsOf } = await preparePlan(options, await loadEnvironment(), true)
  const prune = options.prune === true
  if (options.dryRun) return describePlan(plan, prune)
  assertSecretsWritten(plan, options.secretsOut)
  const outcome = await applyPlan(plan, state, fieldsOf, {
    prune,
    keepSecret: async (secret) => {
      if (options.secretsOut !== undefined) await appendSecret(options.secretsOut, secret)
    },
  })
  return {
    ...describeOutcome(outcome),
    value: { ...toPlanValue(plan, prune), ...describeOutcome(outcome).value },
  }
}

/** A key is of no use if its secret is lost. */
function assertSecretsWritten({ steps }: Plan, path: string | undefined): void {
  const created = steps.filter(
    ({ kind, action }) => kind.returnsSecret && (action === 'create' || action === 'replace'),
  )
  if (created.length === 0 || path !== undefined) return
  const names = created.map(({ kind, name }) => `${kind.kind} "${name}"`).join(', ')
  throw new UsageError(
    `The server shows the secret of a new record only once: name a file for it with --secrets-out. New: ${names}.`,
  )
}

const schemaFile = 'configuration.schema.json'

async function runExport(options: ServerOptions & { dir: string }): Promise<CommandResult | null> {
  const environment = withSecretFiles(await loadEnvironment())
  const fieldsOf = await loadFields()
  const state = new State(connect(options, environment), fieldsOf)
  await state.load(new Set(recordKindNames), null)
  const { files, count, skipped } = exportState(state, options.dir === '-' ? null : schemaFile)
  const notes = skipped.map((name) => `Not exported, because another record has its name: ${name}.`)
  if (options.dir === '-') {
    process.stdout.write(files.map(({ text }) => text).join('---\n'))
    for (const note of notes) process.stderr.write(`${note}\n`)
    return null
  }
  await mkdir(options.dir, { recursive: true })
  await Bun.write(join(options.dir, schemaFile), formatSchema(buildJsonSchema(fieldsOf)))
  for (const { name, text } of files) await Bun.write(join(options.dir, name), text)
  return {
    value: { files: files.map(({ name }) => name), records: count, skipped },
    text: [`Wrote ${count} records to ${files.length} files in ${options.dir}.`, ...notes].join('\n'),
  }
}
