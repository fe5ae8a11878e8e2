import { Command } from 'commander'
import type { Gateway } from '../gateway.ts'
import { checkLedger, type Finding, type LedgerFigures } from '../ledger/check.ts'
import { usdFromNanos } from '../ledger/money.ts'
import { type Result, type Run, UsageError } from './command.ts'

export function checkLedgerCommand(run: Run): Command {
  return new Command('check-ledger')
    .description('prove that the books agree, beside a running server, and print their figures')
    .action(() => run(check))
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
