import type { Statement } from '../db/batch.ts'
import type { Wish } from './book.ts'
import { type Admit, type HoldValues, holdValues, type Note, type Settle } from './engine.ts'

/**
 * An operation that was carried out, as the journal has it: its kind, its id, and the rest as JSON without line
 * ends or tabs. Most holds are settled before anybody has to read their JSON.
 */
export type Line = string

type LineKind = 'columns' | 'admit' | 'settle' | 'note'

/** Amounts are digits. */
type Admitted = [hold: HoldValues, free: [subject: string, minute: string] | null]
type Settled = [
  organizationId: string,
  isByok: boolean,
  amount: string,
  byok: string,
  generation: readonly unknown[] | null,
  companions: readonly Statement[],
  countsIn?: Settle['countsIn'],
]
type Noted = [checkpoint: string]

/** Grows with every change of how lines are written. Earlier forms stay readable; a version refuses a later one. */
const lineForm = 1

/** Which form the lines that follow have, and which values their generations: another version may read them. */
export function columnsLine(columns: readonly string[]): Line {
  return `columns ${lineForm} ${JSON.stringify(columns)}`
}

/** Whether this version can read the lines. The first releases wrote no number. */
export function isKnown({ kind, id }: { kind: string; id: string }): boolean {
  if (kind === 'columns') return id === '-' || Number(id) <= lineForm
  return kind === 'admit' || kind === 'settle' || kind === 'note'
}

export function admitLine(op: Admit): Line {
  const { id, free } = op.wish
  const rest: Admitted = [holdValues(op), free && [free.subject, free.minute]]
  return `admit ${id} ${JSON.stringify(rest)}`
}

export function settleLine(op: Settle): Line {
  return `settle ${op.id} ${JSON.stringify(settledOf(op))}`
}

function settledOf({ organizationId, isByok, spent, generation, companions }: Settle): Settled {
  return [organizationId, isByok, `${spent.amount}`, `${spent.byok}`, generation, companions]
}

/** With what a settlement needs that may find its hold closed. */
export function unsentLine(op: Settle): Line {
  return `settle ${op.id} ${JSON.stringify([...settledOf(op), op.countsIn])}`
}

export function noteLine({ id, checkpoint }: Note): Line {
  const rest: Noted = [checkpoint]
  return `note ${id} ${JSON.stringify(rest)}`
}

export function partsOf(line: Line): { kind: LineKind; id: string; rest: string } {
  const first = line.indexOf(' ')
  const second = line.indexOf(' ', first + 1)
  const kind = line.slice(0, first) as LineKind
  return { kind, id: line.slice(first + 1, second), rest: line.slice(second + 1) }
}

export function readColumns(rest: string): string[] {
  return JSON.parse(rest) as string[]
}

export function readHold(rest: string): HoldValues {
  return (JSON.parse(rest) as Admitted)[0]
}

export function readSettled(rest: string) {
  const [organizationId, isByok, amount, byok, generation, companions, countsIn = null] = JSON.parse(
    rest,
  ) as Settled
  const spent = { amount: BigInt(amount), byok: BigInt(byok) }
  return { organizationId, isByok, spent, generation: generation as unknown[] | null, companions, countsIn }
}

export function readCheckpoint(rest: string): string {
  return (JSON.parse(rest) as Noted)[0]
}

/** What was granted once is granted again: no limit is looked at a second time. */
export function readWish(rest: string): Wish {
  const [[id, , subjects, amount, byok, day], free] = JSON.parse(rest) as Admitted
  const unlimited = { perMinute: Number.POSITIVE_INFINITY, perDay: Number.POSITIVE_INFINITY }
  return {
    id,
    subjects: subjects.split(' '),
    day,
    limits: [],
    free: free && { subject: free[0], minute: free[1], ...unlimited },
    amount: BigInt(amount),
    byok: BigInt(byok),
  }
}
