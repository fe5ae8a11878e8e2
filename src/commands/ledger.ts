import { Command } from 'commander'
import { lockDatabase } from '../gateway/data-dir.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { checkLedger, type Finding, type LedgerTotals, toUsdTotals } from '../ledger/check.ts'
import { acceptJournalLoss } from '../ledger/journal-loss.ts'
import { isPostgresUrl } from '../platform/db/db.ts'
import { type CommandResult, type CommandRunner, transactAsCommand, UsageError } from './command.ts'

export function checkLedgerCommand(run: CommandRunner): Command {
  return new Command('check-ledger')
    .description('verify the invariants of the ledger and print its totals (safe while the server runs)')
    .action(() => run(checkLedgerInvariants))
}

export function acceptJournalLossCommand(run: CommandRunner): Command {
  return new Command('accept-journal-loss')
    .description('discard charges whose journal files are missing or damaged, so that the server can start')
    .action(() => run(runAcceptLoss))
}

async function runAcceptLoss(gateway: Gateway): Promise<CommandResult> {
  const { databaseUrl } = gateway.config
  if (isPostgresUrl(databaseUrl))
    throw new UsageError('The journal exists only with SQLite; this installation uses PostgreSQL.')
  const unlock = lockDatabase(databaseUrl)
  try {
    const files = await transactAsCommand(gateway, null, async (tx, record) => {
      const renamed = await acceptJournalLoss(tx, databaseUrl)
      record({
        action: 'journal.accept_loss',
        target: { type: 'journal', id: 'ledger' },
        details: { renamed },
      })
      return renamed
    })
    const text = files.length === 0 ? 'No file was renamed.' : `Renamed: ${files.join(', ')}`
    return { value: { set_aside: files }, text: `The server can start with the remaining journal.\n${text}` }
  } finally {
    unlock()
  }
}

/** Exit code 1 when an invariant is violated. */
export async function checkLedgerInvariants(gateway: Gateway): Promise<CommandResult> {
  const { sound, findings, figures } = await checkLedger(gateway.db)
  const lines = [...findings.map(formatFinding), '', ...formatTotals(figures)]
  if (!sound) throw new UsageError(`The ledger violates its invariants.\n${lines.join('\n')}`)
  const value = { sound, findings, figures: toUsdTotals(figures) }
  return { value, text: ['The ledger satisfies its invariants.', ...lines].join('\n') }
}

function formatFinding({ invariant, statement, looked_at, violations }: Finding): string {
  const verdict = violations.length === 0 ? 'ok' : 'WRONG'
  const examples = violations.map((violation) => `\n       ${violation}`)
  return `  ${verdict.padEnd(5)} ${invariant} ${statement} (${looked_at})${examples.join('')}`
}

function formatTotals(totals: LedgerTotals): string[] {
  return Object.entries(toUsdTotals(totals)).map(
    ([name, value]) => `  ${name.replaceAll('_', ' ')}: ${value}`,
  )
}
