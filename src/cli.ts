import { Command } from 'commander'
import { auditCommand, checkAuditCommand } from './commands/audit.ts'
import { backupCommand, restoreCommand } from './commands/backup.ts'
import { benchmarkCommand } from './commands/benchmark.ts'
import { clickhouseCommand } from './commands/clickhouse.ts'
import {
  type CommandResult,
  type CommandRunner,
  printResult,
  UsageError,
  withGateway,
} from './commands/command.ts'
import { configurationCommands } from './commands/configuration.ts'
import { doctorCommand } from './commands/doctor/doctor.ts'
import { scimCommand, signInCommand } from './commands/identity.ts'
import { importCommand } from './commands/import.ts'
import { keysCommand } from './commands/keys.ts'
import { acceptJournalLossCommand, checkLedgerCommand } from './commands/ledger.ts'
import { limitsCommand } from './commands/limits.ts'
import { migrateCommand } from './commands/migrate.ts'
import { creditsCommand, organizationsCommand } from './commands/organizations.ts'
import { restartCommand } from './commands/restart.ts'
import { routingRulesCommand } from './commands/routing-rules.ts'
import { shadowCommand } from './commands/shadow.ts'
import { signingKeyCommand } from './commands/signing-key.ts'
import { ssoCommand } from './commands/sso.ts'
import { tiersCommand } from './commands/tiers.ts'
import { ConfigError, findSettingsPath, readConfig } from './config.ts'
import { loadConfig } from './gateway/secret-managers/resolve.ts'
import { readSettings } from './gateway/settings.ts'
import { describeVersion } from './platform/build.ts'
import { GatewayError } from './platform/errors/gateway-error.ts'
import { rootCauseMessage } from './platform/root-cause.ts'

const program = new Command('headgate')
  .description('A self-hosted model gateway. Settings come from the environment and headgate.yaml.')
  .version(describeVersion())
  .option('--json', 'print results as JSON')
  .showHelpAfterError()

const printOutcome = (result: CommandResult) =>
  printResult(result, program.opts<{ json?: boolean }>().json ?? false)
const run: CommandRunner = async (work) => printOutcome(await withGateway(work))

program
  .command('serve')
  .description('start the server (npm start runs this, and the executable without a command)')
  .action(async () => {
    const config = await loadConfig()
    if (config.workers.count > 1 && config.workers.own === null) {
      const { supervise } = await import('./supervisor/supervise.ts')
      await supervise(config)
    } else {
      const { serve } = await import('./main.ts')
      await serve(config)
    }
    // Upstream replies may still be draining.
    process.exit(0)
  })
program.addCommand(migrateCommand(printOutcome))
program
  .command('config')
  .description('inspect the configuration')
  .command('check')
  .description('validate the environment variables and headgate.yaml')
  .action(async () => printOutcome(await validateConfig()))
program.addCommand(doctorCommand(printOutcome))
for (const command of configurationCommands(printOutcome)) program.addCommand(command)
program.addCommand(restartCommand(printOutcome))
program.addCommand(signInCommand(run))
program.addCommand(keysCommand(run))
program.addCommand(importCommand(run))
program.addCommand(organizationsCommand(run))
program.addCommand(creditsCommand(run))
program.addCommand(limitsCommand(run))
program.addCommand(tiersCommand(run))
program.addCommand(routingRulesCommand(run))
program.addCommand(shadowCommand(run))
program.addCommand(scimCommand(run))
program.addCommand(ssoCommand(run))
program.addCommand(signingKeyCommand(run))
program.addCommand(benchmarkCommand(run))
program.addCommand(backupCommand(run))
program.addCommand(restoreCommand(printOutcome))
program.addCommand(clickhouseCommand(run))
program.addCommand(checkLedgerCommand(run))
program.addCommand(auditCommand(run))
program.addCommand(checkAuditCommand(run))
program.addCommand(acceptJournalLossCommand(run))

async function validateConfig(): Promise<CommandResult> {
  const config = await loadConfig()
  const { providers, models } = readSettings(config)
  const file = findSettingsPath(config.environment)
  return {
    value: { file, providers: providers.length, models: models.length },
    text: `The configuration is valid (${file ?? 'no headgate.yaml'}).`,
  }
}

/** One line for the operator. LOG_LEVEL=debug adds the stack of an unexpected error. */
function formatError(error: unknown): string {
  const isExpected =
    error instanceof ConfigError || error instanceof GatewayError || error instanceof UsageError
  if (isExpected) return error.message
  if (readConfig().logLevel === 'debug') return Bun.inspect(error)
  return `Unexpected error: ${rootCauseMessage(error).replaceAll('\n', ' ')} (set LOG_LEVEL=debug for the stack trace)`
}

try {
  await program.parseAsync(process.argv)
} catch (error) {
  process.stderr.write(`headgate: ${formatError(error)}\n`)
  // Open handles, such as a listening port, would keep the process alive.
  process.exit(1)
}
