import type { CommandResult } from '../command.ts'
import type { ItemOutcome, SkippedItem } from './import-plan.ts'

/** Lists what was created and what was not, with a line for each item that is worth reading. */
export function describeOutcomes(
  done: readonly ItemOutcome[],
  skipped: readonly SkippedItem[],
  isPlan: boolean,
): CommandResult {
  const items: ItemOutcome[] = [
    ...done,
    ...skipped.map(({ kind, name, reason }) => ({
      kind,
      name,
      outcome: 'skipped' as const,
      message: reason,
    })),
  ]
  const count = (outcome: ItemOutcome['outcome']) => items.filter((item) => item.outcome === outcome).length
  const counts = { created: count('created'), existing: count('existing'), skipped: count('skipped') }
  const lines = items.map(({ kind, name, outcome, message }) =>
    `${outcome.padEnd(8)}  ${kind.padEnd(10)}  ${name}${message === null ? '' : `: ${message}`}`.trimEnd(),
  )
  const summary = `${counts.created} created, ${counts.existing} existing, ${counts.skipped} skipped.`
  const last = isPlan ? `Plan, nothing was changed: ${summary} Run it with --apply.` : summary
  return { value: { plan: isPlan, ...counts, items }, text: [...lines, last].join('\n') }
}
