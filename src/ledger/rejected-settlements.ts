import { isRejectedData } from '../platform/db/batch.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import type { Settlement, UseLeaseOperation } from './engine.ts'
import type { FlushLog } from './flush-log.ts'
import { stripRecord } from './generation.ts'
import type { JournalIdentity, LeaseDatabase } from './lease-database.ts'

const lateBatchSize = 100

export interface SettlementWriter {
  database: LeaseDatabase
  clock: Clock
  flushLog: FlushLog
  /** Preserves a settlement that the database does not accept. */
  onRejected: (settlement: Settlement) => Promise<void>
}

/** Writes one settlement of a lease without what the database rejects of it. It may have been written before. */
export async function writeSingle(
  { database, clock, flushLog, onRejected }: SettlementWriter,
  journal: JournalIdentity,
  use: UseLeaseOperation,
  settlement: Settlement,
): Promise<void> {
  const attempts = [settlement, withoutExtraStatements(settlement), withoutDescription(settlement)]
  for (const [index, attempt] of attempts.entries()) {
    try {
      await database.write(journal, null, [{ ...use, settlements: [attempt], isRetry: true }], isoNow(clock))
      return
    } catch (error) {
      if (!isRejectedData(error)) throw error
      const kind = index === 0 ? 'extra statements' : 'record'
      flushLog.logRejected({ id: settlement.id, kind, message: String(error) })
    }
  }
  await onRejected(settlement)
}

/** Settles what leases covered that were lost. */
export async function settleLate(
  writer: SettlementWriter,
  settlements: readonly Settlement[],
): Promise<void> {
  const late = settlements.map((settlement) => ({ ...settlement, isLeftover: true, isRetry: true }))
  for (let at = 0; at < late.length; at += lateBatchSize)
    await settleBatch(writer, late.slice(at, at + lateBatchSize))
}

async function settleBatch(writer: SettlementWriter, settlements: readonly Settlement[]): Promise<void> {
  const { database, clock, flushLog, onRejected } = writer
  try {
    await database.run(settlements, isoNow(clock))
  } catch (error) {
    if (!isRejectedData(error)) throw error
    const [only] = settlements
    if (!only || settlements.length > 1) {
      for (const settlement of settlements) await settleBatch(writer, [settlement])
      return
    }
    flushLog.logRejected({ id: only.id, kind: 'record', message: String(error) })
    await database.run([withoutDescription(only)], isoNow(clock)).catch((cause: unknown) => {
      if (!isRejectedData(cause)) throw cause
      return onRejected(only)
    })
  }
}

function withoutExtraStatements(settlement: Settlement): Settlement {
  return { ...settlement, extraStatements: [] }
}

function withoutDescription({ generation, ...settlement }: Settlement): Settlement {
  return { ...settlement, generation: generation && stripRecord(generation), extraStatements: [] }
}
