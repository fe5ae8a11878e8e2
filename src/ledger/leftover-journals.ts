import type { EncodedHold, Settlement } from './engine.ts'
import { decodeRecord } from './generation.ts'
import {
  decodeCheckpointLine,
  decodeColumns,
  isKnownFormat,
  type JournalLine,
  splitLine,
} from './journal-line.ts'
import { JournalError } from './journal-segment.ts'
import type { InterruptedRequests, LeaseDatabase } from './lease-database.ts'
import type { LeaseJournal } from './node-journal.ts'
import { newerVersionMessage, SegmentDecoder } from './segment-decoder.ts'

/** What earlier processes with the same data directory decided and could not write. */
export interface LeftoverJournals {
  ids: readonly string[]
  settlements: readonly Settlement[]
  interrupted: InterruptedRequests
}

export async function readLeftoverJournals(
  journal: LeaseJournal,
  database: LeaseDatabase,
): Promise<LeftoverJournals> {
  const segments = journal.readLeftovers()
  const ids = [...new Set(segments.map(({ segmentId }) => segmentId.journal))]
  const flushed = await database.readFlushed(ids)
  const reader = new LeftoverReader()
  for (const { segmentId, lines } of segments)
    if (segmentId.number > (flushed.get(segmentId.journal) ?? 0)) reader.read(segmentId.journal, lines)
  const { settlements, interrupted } = reader
  return { ids, settlements, interrupted }
}

/** Decodes segments in their order. */
class LeftoverReader {
  readonly settlements: Settlement[] = []
  readonly #holds = new Map<string, { journal: string; hold: EncodedHold }>()
  readonly #checkpoints = new Map<string, string>()

  get interrupted(): InterruptedRequests {
    return { holds: [...this.#holds.values()], checkpoints: this.#checkpoints }
  }

  read(journal: string, lines: Iterable<JournalLine>): void {
    const decoder = new SegmentDecoder()
    let columns: readonly string[] = []
    for (const line of lines) {
      const parts = splitLine(line)
      if (!isKnownFormat(parts)) throw new JournalError(newerVersionMessage)
      const { kind, id, rest } = parts
      if (kind === 'columns') {
        columns = decodeColumns(rest)
        decoder.setColumns([...columns])
      } else if (kind === 'note') this.#checkpoints.set(id, decodeCheckpointLine(rest))
      else if (kind === 'admit' || kind === 'repeat') {
        decoder.addHold(parts)
        this.#holds.set(id, { journal, hold: decoder.decodeHold(parts) })
      } else {
        this.#holds.delete(id)
        this.#checkpoints.delete(id)
        const { generation, ...settled } = decoder.decodeSettlement(parts)
        this.settlements.push({
          op: 'settle',
          id,
          ...settled,
          meteredIn: settled.meteredIn ?? null,
          generation: generation && decodeRecord(columns, generation),
          isLeftover: true,
          isRetry: true,
        })
      }
    }
  }
}
