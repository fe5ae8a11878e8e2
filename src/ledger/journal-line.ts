import type { Statement } from '../db/batch.ts'
import {
  type AdmitOperation,
  type CheckpointOperation,
  type EncodedHold,
  encodeHold,
  type Settlement,
} from './engine.ts'
import type { HoldRequest } from './ledger-state.ts'

/**
 * An operation that was carried out, as the journal stores it: its kind, its id, and the rest as JSON without
 * line ends or tabs. Most holds are settled before their JSON has to be parsed.
 */
export type JournalLine = string

type LineKind = 'columns' | 'admit' | 'settle' | 'note'

/** Amounts are digits. */
type AdmitPayload = [hold: EncodedHold, free: [subject: string, minute: string] | null]
type SettlePayload = [
  organizationId: string,
  isByok: boolean,
  amount: string,
  byok: string,
  generation: readonly unknown[] | null,
  extraStatements: readonly Statement[],
  meteredIn?: Settlement['meteredIn'],
]
type CheckpointPayload = [checkpoint: string]

/**
 * Incremented whenever the way lines are written changes. Earlier formats stay readable; a later one is
 * rejected.
 */
const lineFormat = 1

/**
 * Declares the format of the lines that follow and the columns of their generations: another version may read
 * them.
 */
export function encodeColumns(columns: readonly string[]): JournalLine {
  return `columns ${lineFormat} ${JSON.stringify(columns)}`
}

/** Whether this version can read the lines. The first releases wrote no number. */
export function isKnownFormat({ kind, id }: { kind: string; id: string }): boolean {
  if (kind === 'columns') return id === '-' || Number(id) <= lineFormat
  return kind === 'admit' || kind === 'settle' || kind === 'note'
}

export function encodeAdmit(op: AdmitOperation): JournalLine {
  const { id, free } = op.request
  const rest: AdmitPayload = [encodeHold(op), free && [free.subject, free.minute]]
  return `admit ${id} ${JSON.stringify(rest)}`
}

export function encodeSettlement(op: Settlement): JournalLine {
  return `settle ${op.id} ${JSON.stringify(buildSettlePayload(op))}`
}

function buildSettlePayload({
  organizationId,
  isByok,
  spent,
  generation,
  extraStatements,
}: Settlement): SettlePayload {
  return [organizationId, isByok, `${spent.amount}`, `${spent.byok}`, generation, extraStatements]
}

/** With what a settlement needs that may find its hold settled by another node. */
export function encodeSpooledSettlement(op: Settlement): JournalLine {
  return `settle ${op.id} ${JSON.stringify([...buildSettlePayload(op), op.meteredIn])}`
}

export function encodeCheckpoint({ id, checkpoint }: CheckpointOperation): JournalLine {
  const rest: CheckpointPayload = [checkpoint]
  return `note ${id} ${JSON.stringify(rest)}`
}

export function splitLine(line: JournalLine): { kind: LineKind; id: string; rest: string } {
  const first = line.indexOf(' ')
  const second = line.indexOf(' ', first + 1)
  const kind = line.slice(0, first) as LineKind
  return { kind, id: line.slice(first + 1, second), rest: line.slice(second + 1) }
}

export function decodeColumns(rest: string): string[] {
  return JSON.parse(rest) as string[]
}

export function decodeAdmittedHold(rest: string): EncodedHold {
  return (JSON.parse(rest) as AdmitPayload)[0]
}

export function decodeSettlement(rest: string) {
  const [organizationId, isByok, amount, byok, generation, extraStatements, meteredIn = null] = JSON.parse(
    rest,
  ) as SettlePayload
  const spent = { amount: BigInt(amount), byok: BigInt(byok) }
  return {
    organizationId,
    isByok,
    spent,
    generation: generation as unknown[] | null,
    extraStatements,
    meteredIn,
  }
}

export function decodeCheckpointLine(rest: string): string {
  return (JSON.parse(rest) as CheckpointPayload)[0]
}

/** A hold that was granted before the crash is granted again, without checking limits a second time. */
export function decodeHoldRequest(rest: string): HoldRequest {
  const [[id, , subjects, amount, byok, day], free] = JSON.parse(rest) as AdmitPayload
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
