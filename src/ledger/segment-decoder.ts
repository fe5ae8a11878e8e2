import { generationColumns } from '../platform/db/generation-table.ts'
import type { EncodedHold, Settlement } from './engine.ts'
import {
  type AdmitPayload,
  type ChargePayload,
  type DecodedSettlement,
  decodeColumns,
  decodeSettlement,
  isKnownFormat,
  type RepeatPayload,
  repeatedColumns,
  type SplitLine,
} from './journal-line.ts'
import { JournalError } from './journal-segment.ts'
import type { HoldRequest } from './ledger-state.ts'

/** The draft of a line that was written in full, and its hold, if it is one. */
interface Sample {
  /** The first values are those of the draft. */
  values: readonly unknown[]
  hold: EncodedHold | null
  meteredIn: Settlement['meteredIn']
}

/** Number of columns that the ledger adds to a generation. */
const ledgerColumns = 2
/** Index of the first column of a generation in a payload. */
const columnsOfRepeat = 5
const columnsOfCharge = 5

/** Decodes the holds and settlements of one segment of the journal, in their order. */
export class SegmentDecoder {
  #columns: readonly string[] = generationColumns
  /** Positions of `repeatedColumns`. */
  #positions = findPositions(generationColumns)
  #organizationAt = generationColumns.indexOf('organization_id')
  /** Lines that were written in full. Holds are texts until one is needed: most are settled before. */
  readonly #full: (Sample | string)[] = []

  setColumns(columns: readonly string[]): void {
    this.#columns = columns
    this.#positions = findPositions(columns)
    this.#organizationAt = columns.indexOf('organization_id')
  }

  /** Adds a hold. Must be called for every `admit` and `repeat`. */
  addHold({ kind, rest }: SplitLine): void {
    if (kind === 'admit') this.#full.push(rest)
  }

  /** Decodes a settlement. Must be called for every `settle` and `charge`. */
  decodeSettlement({ kind, id, rest }: SplitLine): DecodedSettlement & Pick<Settlement, 'meteredIn'> {
    if (kind === 'charge') return this.#decodeCharge(id, rest)
    const settlement = decodeSettlement(rest)
    // A copy, because the caller may add to the list.
    const { meteredIn } = settlement
    this.#full.push({ values: [...(settlement.generation ?? [])], hold: null, meteredIn })
    return settlement
  }

  #decodeCharge(id: string, rest: string): DecodedSettlement & Pick<Settlement, 'meteredIn'> {
    const payload = JSON.parse(rest) as ChargePayload
    const outcomeAt = columnsOfCharge + repeatedColumns.length
    const draftLength = this.#columns.length - ledgerColumns - (payload.length - outcomeAt)
    const generation = this.#repeatDraft(payload, columnsOfCharge, id, draftLength)
    for (let index = outcomeAt; index < payload.length; index++) generation.push(payload[index])
    return {
      organizationId: String(generation[this.#organizationAt]),
      isByok: payload[1],
      spent: { amount: BigInt(payload[2]), byok: BigInt(payload[3]) },
      generation,
      extraStatements: payload[4],
      meteredIn: this.#findSample(payload[0]).meteredIn,
    }
  }

  decodeHold({ kind, id, rest }: SplitLine): EncodedHold {
    if (kind === 'admit') return (JSON.parse(rest) as AdmitPayload)[0]
    const payload = JSON.parse(rest) as RepeatPayload
    const [like, amount, byok, expiresAt, promptTokens] = payload
    const { hold } = this.#findSample(like)
    if (!hold) throw new JournalError(`A segment of the journal repeats line ${like}, which is not a hold.`)
    const [, owner, subjects, , , day, , [format, values, target, , byokFee]] = hold
    const generation = this.#repeatDraft(payload, columnsOfRepeat, id, values.length)
    const draft: EncodedHold[7] = [format, generation, target, promptTokens, byokFee]
    return [id, owner, subjects, amount, byok, day, expiresAt, draft]
  }

  /** A hold that was granted before the crash is granted again, without checking limits a second time. */
  decodeRequest(line: SplitLine): HoldRequest {
    const [id, , subjects, amount, byok, day] = this.decodeHold(line)
    const free = line.kind === 'admit' ? (JSON.parse(line.rest) as AdmitPayload)[1] : null
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

  #repeatDraft(payload: RepeatPayload | ChargePayload, from: number, id: string, length: number): unknown[] {
    const draft = this.#findSample(payload[0]).values.slice(0, length)
    draft[0] = id
    let at = from
    for (const position of this.#positions) draft[position] = payload[at++]
    return draft
  }

  #findSample(index: number): Sample {
    const full = this.#full[index]
    if (full === undefined) throw new JournalError(`A segment of the journal has no line ${index} to repeat.`)
    if (typeof full !== 'string') return full
    const [hold] = JSON.parse(full) as AdmitPayload
    const meteredIn = { subjects: hold[2].split(' '), day: hold[5] }
    const sample = { values: hold[7][1], hold, meteredIn }
    this.#full[index] = sample
    return sample
  }
}

function findPositions(columns: readonly string[]): readonly number[] {
  return repeatedColumns.map((column) => columns.indexOf(column))
}

export const newerVersionMessage =
  'The journal of the ledger was written by a newer version of Headgate: start that version once and stop it, then this one.'

/** A change by a hold or a settlement. */
type ReplayedOperation = HoldRequest | ReplayedSettlement

export type ReplayedSettlement = Pick<Settlement, 'id' | 'spent' | 'uncharged'>

/** Decodes the changes by the holds and settlements of a segment, in their order. */
export function decodeOperations(lines: readonly SplitLine[]): ReplayedOperation[] {
  if (!lines.every(isKnownFormat)) throw new JournalError(newerVersionMessage)
  const decoder = new SegmentDecoder()
  return lines.flatMap((line): ReplayedOperation[] => {
    const { kind, id, rest } = line
    if (kind === 'columns') decoder.setColumns(decodeColumns(rest))
    if (kind === 'settle' || kind === 'charge') return [{ id, ...decoder.decodeSettlement(line) }]
    if (kind !== 'admit' && kind !== 'repeat') return []
    decoder.addHold(line)
    return [decoder.decodeRequest(line)]
  })
}
