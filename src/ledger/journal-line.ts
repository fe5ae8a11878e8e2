import type { Statement } from '../platform/db/batch.ts'
import {
  type AdmitOperation,
  type CheckpointOperation,
  type EncodedHold,
  encodeHold,
  type Settlement,
} from './engine.ts'
import { type GenerationRecord, listRecordValues } from './generation.ts'

/**
 * An operation that was carried out, as the journal stores it: its kind, its id, and the rest as JSON without
 * line ends or tabs. Most holds are settled before their JSON has to be parsed.
 *
 * - `columns`: the format of the lines that follow, and the columns of their generations
 * - `admit`: a hold
 * - `settle`: a settlement with its whole generation
 * - `repeat`, `charge`: a hold and a settlement with a generation, without what they have in common with an earlier
 *   `admit` or `settle` of the same segment
 * - `note`: a checkpoint
 */
export type JournalLine = string

export type LineKind = 'columns' | 'admit' | 'repeat' | 'settle' | 'charge' | 'note'

/** Amounts are digits. */
export type AdmitPayload = [hold: EncodedHold, free: [subject: string, minute: string] | null]
/** `like`: how many `admit` and `settle` the segment has before the one that this line is like. */
export type RepeatPayload = [
  like: number,
  amount: string,
  byok: string,
  expiresAt: string,
  promptTokens: number,
  ...columns: unknown[],
]
type SettlePayload = [
  organizationId: string,
  isByok: boolean,
  amount: string,
  byok: string,
  generation: readonly unknown[] | null,
  extraStatements: readonly Statement[],
  meteredIn?: Settlement['meteredIn'],
  uncharged?: Settlement['uncharged'],
]
/** The columns are those of `repeatedColumns`, then those that no draft has. */
export type ChargePayload = [
  like: number,
  isByok: boolean,
  amount: string,
  byok: string,
  extraStatements: readonly Statement[],
  ...columns: unknown[],
]
type CheckpointPayload = [checkpoint: string]

/**
 * Incremented whenever the way lines are written changes. Earlier formats stay readable; a later one is
 * rejected. The second added `repeat` and `charge`.
 */
const lineFormat = 2

/** The columns of a draft that `repeat` and `charge` have, besides the id of the line. */
export const repeatedColumns = [
  'created_at',
  'session_id',
  'external_user',
  'request_id',
  'input_images',
] as const

const kinds: ReadonlySet<string> = new Set<LineKind>(['admit', 'repeat', 'settle', 'charge', 'note'])

/**
 * Declares the format of the lines that follow and the columns of their generations: another version may read
 * them.
 */
export function encodeColumns(columns: readonly string[]): JournalLine {
  return `columns ${lineFormat} ${JSON.stringify(columns)}`
}

/** Whether this version can read the lines. The first releases wrote no number. */
export function isKnownFormat({ kind, id }: { kind: string; id: string }): boolean {
  return kind === 'columns' ? id === '-' || Number(id) <= lineFormat : kinds.has(kind)
}

export function encodeAdmit(op: AdmitOperation): JournalLine {
  const { id, free } = op.request
  const rest: AdmitPayload = [encodeHold(op), free && [free.subject, free.minute]]
  return `admit ${id} ${JSON.stringify(rest)}`
}

export function encodeRepeat({ request, expiresAt, draft }: AdmitOperation, like: number): JournalLine {
  const { created_at, session_id, external_user, request_id, input_images } = draft.generation
  const { id, amount, byok } = request
  const columns = [created_at, session_id, external_user, request_id, input_images]
  const rest: RepeatPayload = [like, `${amount}`, `${byok}`, expiresAt, draft.promptTokens, ...columns]
  return `repeat ${id} ${JSON.stringify(rest)}`
}

export function encodeSettlement(op: Settlement): JournalLine {
  const { uncharged } = op
  const payload = buildSettlePayload(op)
  return `settle ${op.id} ${JSON.stringify(uncharged ? [...payload, null, uncharged] : payload)}`
}

function buildSettlePayload({
  organizationId,
  isByok,
  spent,
  generation,
  extraStatements,
}: Settlement): SettlePayload {
  const values = generation && listRecordValues(generation)
  return [organizationId, isByok, `${spent.amount}`, `${spent.byok}`, values, extraStatements]
}

/** Encodes a settlement with the meters it needs if another node has settled its hold. */
export function encodeSpooledSettlement(op: Settlement): JournalLine {
  const { meteredIn, uncharged } = op
  const where = uncharged ? [meteredIn, uncharged] : [meteredIn]
  return `settle ${op.id} ${JSON.stringify([...buildSettlePayload(op), ...where])}`
}

export function encodeCharge(
  { id, isByok, spent, extraStatements }: Settlement,
  { draft, outcome }: GenerationRecord,
  like: number,
): JournalLine {
  const { created_at, session_id, external_user, request_id, input_images } = draft
  const head = [like, isByok, `${spent.amount}`, `${spent.byok}`, extraStatements]
  const rest = [...head, created_at, session_id, external_user, request_id, input_images, ...outcome]
  return `charge ${id} ${JSON.stringify(rest)}`
}

export function encodeCheckpoint({ id, checkpoint }: CheckpointOperation): JournalLine {
  const rest: CheckpointPayload = [checkpoint]
  return `note ${id} ${JSON.stringify(rest)}`
}

export interface SplitLine {
  kind: LineKind
  id: string
  rest: string
}

export function splitLine(line: JournalLine): SplitLine {
  const first = line.indexOf(' ')
  const second = line.indexOf(' ', first + 1)
  const kind = line.slice(0, first) as LineKind
  return { kind, id: line.slice(first + 1, second), rest: line.slice(second + 1) }
}

export function decodeColumns(rest: string): string[] {
  return JSON.parse(rest) as string[]
}

/** The values of a generation are those of the columns that the file declares, without those of the ledger. */
export interface DecodedSettlement
  extends Pick<Settlement, 'organizationId' | 'isByok' | 'spent' | 'extraStatements' | 'uncharged'> {
  generation: unknown[] | null
}

export function decodeSettlement(rest: string): DecodedSettlement & Pick<Settlement, 'meteredIn'> {
  const [organizationId, isByok, amount, byok, generation, extraStatements, meteredIn = null, uncharged] =
    JSON.parse(rest) as SettlePayload
  const spent = { amount: BigInt(amount), byok: BigInt(byok) }
  return {
    organizationId,
    isByok,
    spent,
    generation: generation as unknown[] | null,
    extraStatements,
    meteredIn,
    ...(uncharged && { uncharged }),
  }
}

export function decodeCheckpointLine(rest: string): string {
  return (JSON.parse(rest) as CheckpointPayload)[0]
}
