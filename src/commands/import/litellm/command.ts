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
import { importCatalog } from '../import-catalog.ts'
import { parseConfigFile } from './config-file.ts'
import { translateConfig } from './translate-config.ts'
import { parseVariables } from './variables.ts'

interface LiteLlmOptions extends OrgOption {
  env?: string
  plan?: boolean
  apply?: boolean
}

export function importLiteLlmCommand(run: CommandRunner): Command {
  return new Command('litellm')
    .description('import models, aliases and fallbacks from config.yaml of LiteLLM')
    .argument('<config>', 'config.yaml; - for standard input')
    .option('--plan', 'print what would happen, and change nothing (default)')
    .option('--apply', 'make the changes, in one transaction')
    .option('--env <file>', 'file of NAME=value lines for os.environ/NAME, besides the environment')
    .option(...orgFlag)
    .action((file: string, options: LiteLlmOptions) => run((gateway) => runImport(gateway, file, options)))
}

async function runImport(gateway: Gateway, file: string, options: LiteLlmOptions): Promise<CommandResult> {
  if (options.plan && options.apply) throw new UsageError('--plan and --apply exclude each other.')
  const { id: organizationId } = await resolveOrganization(gateway, options.org)
  await requireOperator(gateway, organizationId)
  const variables = {
    ...gateway.config.environment,
    ...(options.env !== undefined && parseVariables(await readTextFile(options.env))),
  }
  const config = parseConfigFile(await readTextFile(file), basename(file))
  const plan = translateConfig(gateway, config, variables)
  const isPlan = options.apply !== true
  const { outcomes, overrides } = await dryRun<Awaited<ReturnType<typeof importCatalog>>>(isPlan, (finish) =>
    transactAsCommand(gateway, organizationId, async (tx, record) =>
      finish(await importCatalog({ gateway, tx, record, organizationId }, plan.catalog)),
    ),
  )
  if (overrides && !isPlan) installOverrides(gateway, overrides)
  return describeOutcomes(outcomes, plan.skipped, isPlan)
}

/** The catalog belongs to the installation. */
async function requireOperator(gateway: Gateway, organizationId: string): Promise<void> {
  const operator = await findOperatorOrganization(gateway.db)
  if (operator?.id !== organizationId)
    throw new UsageError('Models are imported by the organization that operates this installation.')
}
