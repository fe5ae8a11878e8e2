import { basename } from 'node:path'
import { Command } from 'commander'
import type { Gateway } from '../../../gateway/gateway.ts'
import { installOverrides } from '../../../gateway/reload.ts'
import { findOperatorOrganization } from '../../../identity/organizations.ts'
import { dryRun } from '../../../platform/db/dry-run.ts'
import {
  type CommandResult,
  type CommandRunner,
  type OrgOption,
  orgFlag,
  readTextFile,
  resolveOrganization,
  transactAsCommand,
  UsageError,
} from '../../command.ts'
import { describeOutcomes } from '../describe-outcomes.ts'
import { importAccounts } from '../import-accounts.ts'
import { type ImportedCatalog, importCatalog } from '../import-catalog.ts'
import { parseConfigFile } from './config-file.ts'
import { readDatabase } from './database.ts'
import { translateConfig } from './translate-config.ts'
import { translateDatabase } from './translate-database.ts'
import { parseVariables } from './variables.ts'

interface LiteLlmOptions extends OrgOption {
  database?: string
  env?: string
  plan?: boolean
  apply?: boolean
}

export function importLiteLlmCommand(run: CommandRunner): Command {
  return new Command('litellm')
    .description(
      'import models from config.yaml of LiteLLM, and teams, users, keys and budgets from its database',
    )
    .argument('[config]', 'config.yaml; - for standard input')
    .option('--database <url>', "address of LiteLLM's PostgreSQL, which is only read")
    .option('--plan', 'print what would happen, and change nothing (default)')
    .option('--apply', 'make the changes, in one transaction')
    .option('--env <file>', 'file of NAME=value lines for os.environ/NAME, besides the environment')
    .option(...orgFlag)
    .action((file: string | undefined, options: LiteLlmOptions) =>
      run((gateway) => runImport(gateway, file, options)),
    )
}

async function runImport(
  gateway: Gateway,
  file: string | undefined,
  options: LiteLlmOptions,
): Promise<CommandResult> {
  if (options.plan && options.apply) throw new UsageError('--plan and --apply exclude each other.')
  if (file === undefined && options.database === undefined)
    throw new UsageError('Name config.yaml, --database, or both.')
  const { id: organizationId } = await resolveOrganization(gateway, options.org)
  const models = file === undefined ? null : await readModels(gateway, organizationId, file, options)
  const accounts =
    options.database === undefined
      ? null
      : translateDatabase(await readDatabase(options.database), gateway.clock.now())
  const isPlan = options.apply !== true
  const { outcomes, overrides } = await dryRun<Pick<ImportedCatalog, 'outcomes' | 'overrides'>>(
    isPlan,
    (finish) =>
      transactAsCommand(gateway, organizationId, async (tx, record) => {
        const input = { gateway, tx, record, organizationId }
        const imported = await importCatalog(input, models?.catalog ?? emptyCatalog)
        const created = accounts ? await importAccounts(input, imported.catalog, accounts.accounts) : []
        return finish({ overrides: imported.overrides, outcomes: [...imported.outcomes, ...created] })
      }),
  )
  if (overrides && !isPlan) installOverrides(gateway, overrides)
  return describeOutcomes(outcomes, [...(models?.skipped ?? []), ...(accounts?.skipped ?? [])], isPlan)
}

const emptyCatalog = { providers: [], known: [], models: [], fallbacks: [], aliases: [] }

async function readModels(gateway: Gateway, organizationId: string, file: string, options: LiteLlmOptions) {
  await requireOperator(gateway, organizationId)
  const variables = {
    ...gateway.config.environment,
    ...(options.env !== undefined && parseVariables(await readTextFile(options.env))),
  }
  const config = parseConfigFile(await readTextFile(file), basename(file))
  return translateConfig(gateway, config, variables)
}

/** The catalog belongs to the installation. */
async function requireOperator(gateway: Gateway, organizationId: string): Promise<void> {
  const operator = await findOperatorOrganization(gateway.db)
  if (operator?.id !== organizationId)
    throw new UsageError('Models are imported by the organization that operates this installation.')
}
