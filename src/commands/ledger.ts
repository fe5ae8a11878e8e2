import { Command } from 'commander'
import { lockDatabase } from '../data-dir.ts'
import { isPostgresUrl } from '../db/db.ts'
import type { Gateway } from '../gateway.ts'
import { checkLedger, type Finding, type LedgerFigures } from '../ledger/check.ts'
import { acceptJournalLoss } from '../ledger/journal-loss.ts'
import { usdFromNanos } from '../ledger/money.ts'
import { type Result, type Run, UsageError } from './command.ts'

export function checkLedgerCommand(run: Run): Command {
  return new Command('check-ledger')
    .description('prove that the books agree, beside a running server, and print their figures')
    .action(() => run(check))
}

export function acceptJournalLossCommand(run: Run): Command {
  return new Command('accept-journal-loss')
    .description('let the next start go on without charges whose journal files are missing or damaged')
    .action(() => run(acceptLoss))
}

async function acceptLoss({ config, db }: Gateway): Promise<Result> {
  const { databaseUrl } = config
  if (isPostgresUrl(databaseUrl)) throw new UsageError('With PostgreSQL there is no journal.')
  const unlock = lockDatabase(databaseUrl)
  try {
    const files = await acceptJournalLoss(db, databaseUrl)
    const text = files.length === 0 ? 'No file was set aside.' : `Set aside: ${files.join(', ')}`
    return { value: { set_aside: files }, text: `The next start goes on with what is there.\n${text}` }
  } finally {
    unlock()
  }
}

/** Exit code 1 when something does not add up. */
async function check(gateway: Gateway): Promise<Result> {
  const { sound, findings, figures } = await checkLedger(gateway.db)
  const lines = [...findings.map(lineOf), '', ...figureLines(figures)]
  if (!sound) throw new UsageError(`The ledger is not sound.\n${lines.join('\n')}`)
  const value = { sound, findings, figures: shown(figures) }
  return { value, text: ['The ledger is sound.', ...lines].join('\n') }
}

function lineOf({ invariant, statement, looked_at, violations }: Finding): string {
  const verdict = violations.length === 0 ? 'ok' : 'WRONG'
  const examples = violations.map((violation) => `\n       ${violation}`)
  return `  ${verdict.padEnd(5)} ${invariant} ${statement} (${looked_at})${examples.join('')}`
}

function figureLines(figures: LedgerFigures): string[] {
  return Object.entries(shown(figures)).map(([name, value]) => `  ${name.replaceAll('_', ' ')}: ${value}`)
}

function shown(figures: LedgerFigures): Record<string, number> {
  const entries = Object.entries(figures).map(([name, value]) =>
    typeof value === 'bigint' ? [name.replace('_nanos', '_usd'), usdFromNanos(value)] : [name, value],
  )
  return Object.fromEntries(entries)
}
