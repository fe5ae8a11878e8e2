import type { Batch, BatchConnection, Row } from '../platform/db/batch.ts'
import { buildListQuery } from '../platform/db/statements.ts'
import { type Amounts, noAmounts } from './amounts.ts'
import { databaseTime, databaseTimeIn } from './database-time.ts'
import { decodeDraft, emptyDraft } from './draft.ts'
import type { AdmitOperation, EncodedHold, LeaseOperation, LedgerOperation } from './engine.ts'
import { allowanceShare } from './lease.ts'
import {
  type InterruptedRequests,
  type JournalIdentity,
  JournalTakenError,
  type LeaseDatabase,
  type OpenJournal,
} from './lease-database.ts'
import { leasePattern, leasePatternOf, newLeaseId } from './lease-id.ts'
import type { Hold } from './ledger-state.ts'
import { type LeaseOutcome, PostgresTransaction } from './postgres-transaction.ts'
import { createRelease } from './settlement.ts'
import { decodeHold } from './tables.ts'

type Operations = readonly (LedgerOperation | LeaseOperation)[]

/** Leases in PostgreSQL: rows of `holds`, besides those of requests. */
export class PostgresLeases implements LeaseDatabase {
  /** Transactions that a request waits for, and others. */
  readonly #connection: BatchConnection
  readonly #background: BatchConnection

  constructor(connection: BatchConnection, background: BatchConnection) {
    this.#connection = connection
    this.#background = background
  }

  run(ops: readonly LedgerOperation[], now: string): Promise<LeaseOutcome> {
    return this.#connection.transact((batch) => new PostgresTransaction(batch, now).run(ops))
  }

  grant(
    { id, nodeId, isNew }: JournalIdentity & { isNew: boolean },
    ops: Operations,
    now: string,
  ): Promise<LeaseOutcome> {
    return this.#connection.transact(async (batch) => {
      if (isNew) await batch.run([{ sql: insertJournal, values: [id, nodeId] }])
      const [row] = await batch.rows([{ sql: shareJournal, values: [id] }])
      if (!row || row.taken_at !== null) throw new JournalTakenError()
      return new PostgresTransaction(batch, now).run(ops)
    })
  }

  write(
    { id }: JournalIdentity,
    segment: number | null,
    ops: Operations,
    now: string,
  ): Promise<LeaseOutcome | null> {
    return this.#background.transact(async (batch) => {
      const [row] = await batch.rows([{ sql: renewJournal, values: [id] }])
      if (!row) throw new JournalTakenError()
      if (segment !== null && Number(row.flushed) >= segment) return null
      if (segment !== null) await batch.run([{ sql: advanceJournal, values: [id, segment] }])
      return new PostgresTransaction(batch, now).run(ops)
    })
  }

  forget({ id, nodeId }: JournalIdentity, now: string): Promise<void> {
    return this.#background.transact((batch) => endJournals(batch, [{ id, nodeId }], now))
  }

  recall(subjects: readonly string[], ms: number): Promise<ReadonlySet<string>> {
    const sorted = subjects.toSorted()
    return this.#background.transact(async (batch) => {
      // A lease is granted before this, and found below, or not at all.
      await batch.rows(buildListQuery(lockMeters, sorted))
      await batch.run(buildListQuery(upsertRecalls, sorted, String(ms)))
      return toSubjects(await batch.rows(buildListQuery(findLeased, sorted)))
    })
  }

  async readRecalled(): Promise<ReadonlySet<string>> {
    const sql = `select subject from lease_recalls where until > ${databaseTime}`
    return toSubjects(await this.#background.transact((batch) => batch.rows([{ sql, values: [] }])))
  }

  async listOpenJournals(nodeId: string): Promise<OpenJournal[]> {
    const sql = `select id, node_id, renewed_at from ledger_journals where node_id <> $1 and taken_at is null
      and exists (select 1 from holds where holds.id like 'lease-' || ledger_journals.id || '-%')`
    const rows = await this.#background.transact((batch) => batch.rows([{ sql, values: [nodeId] }]))
    return rows.map((row) => ({ ...decodeJournal(row), renewedAt: String(row.renewed_at) }))
  }

  takeOver({ id, renewedAt }: OpenJournal, expiresAt: string, now: string): Promise<boolean> {
    return this.#background.transact(async (batch) => {
      const rows = await batch.rows([{ sql: lockSilentJournal, values: [id, renewedAt] }])
      if (rows.length === 0) return false
      await batch.run([{ sql: 'update ledger_journals set taken_at = $2 where id = $1', values: [id, now] }])
      const leases = (await batch.rows([{ sql: selectLeases, values: [leasePatternOf(id)] }])).map(decodeHold)
      const ops = leases.flatMap((lease) => [
        createRelease(lease.id, ''),
        ...buildAllowances(id, lease, expiresAt),
      ])
      await new PostgresTransaction(batch, now).run(ops)
      return true
    })
  }

  releaseExpired(now: string): Promise<void> {
    return this.#background.transact(async (batch) => {
      const sql = "select id from holds where owner like 'journal%' and expires_at < $1"
      await releaseHolds(batch, await batch.rows([{ sql, values: [now] }]), now)
      const old = new Date(Date.parse(now) - journalRetentionMs).toISOString()
      await batch.run([
        { sql: `delete from lease_recalls where until < ${databaseTime}`, values: [] },
        { sql: 'delete from ledger_journals where taken_at < $1', values: [old] },
      ])
    })
  }

  async readFlushed(ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const select = 'select id, flushed from ledger_journals where id in ($)'
    const rows = await this.#background.transact((batch) => batch.rows(buildListQuery(select, ids)))
    return new Map(rows.map(({ id, flushed }) => [String(id), Number(flushed)]))
  }

  retire(ids: readonly string[], interrupted: InterruptedRequests, now: string): Promise<string[]> {
    return this.#background.transact(async (batch) => {
      const select = 'select id, node_id, taken_at from ledger_journals where id in ($) for update'
      const rows = await batch.rows(buildListQuery(select, ids))
      const journals = rows.map(decodeJournal)
      const nodeIds = journals.map(({ nodeId }) => nodeId)
      const own = new Set(rows.filter(({ taken_at }) => taken_at === null).map(({ id }) => String(id)))
      await endJournals(batch, journals, now)
      await placeInterrupted(batch, interrupted, own, now)
      await batch.run(buildListQuery('delete from nodes where id in ($)', nodeIds))
      return [...new Set([...nodeIds, ...interrupted.holds.map(({ hold: [, owner] }) => owner)])]
    })
  }

  placeInterrupted(interrupted: InterruptedRequests, now: string): Promise<void> {
    return this.#background.transact((batch) => placeInterrupted(batch, interrupted, new Set(), now))
  }

  async close(): Promise<void> {
    await Promise.all([this.#connection.close(), this.#background.close()])
  }
}

/** A node that starts again after this time delivers its journal from the beginning, which changes nothing. */
const journalRetentionMs = 30 * 86_400_000

const insertJournal = `insert into ledger_journals (id, node_id, flushed, renewed_at) values ($1, $2, 0, cast(clock_timestamp() as text))
  on conflict (id) do update set renewed_at = excluded.renewed_at where ledger_journals.taken_at is null`
/** Keeps others from taking the journal over until the transaction ends, and does not delay its writer. */
const shareJournal = 'select taken_at from ledger_journals where id = $1 for key share'
const renewJournal =
  'update ledger_journals set renewed_at = cast(clock_timestamp() as text) where id = $1 and taken_at is null returning flushed'
const advanceJournal = 'update ledger_journals set flushed = $2 where id = $1'
/** A stronger lock than that of an update: it also waits for those who share the journal. */
const lockSilentJournal =
  'select id from ledger_journals where id = $1 and taken_at is null and renewed_at = $2 for update'
const selectLeases = `select id, subjects, day, amount_nanos, byok_nanos from holds
  where id like $1 order by id for update`
const lockMeters = 'select subject from meters where subject in ($) order by subject for update'
const upsertRecalls = `with recalled as (select subject from meters where subject in ($) order by subject)
  insert into lease_recalls (subject, until) select subject, ${databaseTimeIn('$2')} from recalled
  on conflict (subject) do update set until = excluded.until`
const findLeased = `select distinct subject from holds, unnest(string_to_array(subjects, ' ')) as subject
  where id like '${leasePattern}' and amount_nanos + byok_nanos > 0 and owner not like 'journal%'
  and subject in ($)`

function toSubjects(rows: readonly Row[]): ReadonlySet<string> {
  return new Set(rows.map(({ subject }) => String(subject)))
}

function decodeJournal(row: Row): JournalIdentity {
  return { id: String(row.id), nodeId: String(row.node_id) }
}

/** What stays reserved of a lease: its node acknowledges no more than this before it is written. */
export function computeAllowance({ amount, byok }: Amounts): Amounts {
  return { amount: amount / allowanceShare, byok: byok / allowanceShare }
}

function buildAllowances(journal: string, lease: Hold, expiresAt: string): AdmitOperation[] {
  const { subjects, day } = lease
  const amounts = computeAllowance(lease)
  if (amounts.amount + amounts.byok === 0n) return []
  const id = newLeaseId('allowance')
  const request = { id, subjects, day, limits: [], free: null, ...amounts }
  return [{ op: 'admit', organizationId: '', owner: journal, expiresAt, draft: emptyDraft, request }]
}

async function endJournals(batch: Batch, journals: readonly JournalIdentity[], now: string): Promise<void> {
  const ids = journals.map(({ id }) => id)
  const holds = await batch.rows([
    ...ids.map((id) => ({ sql: 'select id from holds where id like $1', values: [leasePatternOf(id)] })),
    ...buildListQuery('select id from holds where owner in ($)', ids),
  ])
  await releaseHolds(batch, holds, now)
  await batch.run(buildListQuery('delete from ledger_journals where id in ($)', ids))
}

async function releaseHolds(batch: Batch, rows: readonly Row[], now: string): Promise<void> {
  if (rows.length === 0) return
  await new PostgresTransaction(batch, now).run(rows.map(({ id }) => createRelease(String(id), '')))
}

/** `own`: the journals whose leases were not taken over. They covered the holds, and end in the same transaction. */
async function placeInterrupted(
  batch: Batch,
  { holds, checkpoints }: InterruptedRequests,
  own: ReadonlySet<string>,
  now: string,
): Promise<void> {
  const ids = holds.map(({ hold: [id] }) => id)
  const known = await batch.rows([
    ...buildListQuery('select id from holds where id in ($)', ids),
    ...buildListQuery('select id from generations where id in ($)', ids),
  ])
  const knownIds = new Set(known.map(({ id }) => String(id)))
  const unknown = holds.filter(({ hold: [id] }) => !knownIds.has(id))
  if (unknown.length > 0)
    await new PostgresTransaction(batch, now).run(
      unknown.map(({ journal, hold }) => toAdmission(hold, own.has(journal))),
    )
  const update = 'update holds set checkpoint = $1 where id = $2'
  await batch.run([...checkpoints].map(([id, checkpoint]) => ({ sql: update, values: [checkpoint, id] })))
}

function toAdmission(
  [id, owner, subjects, amount, byok, day, expiresAt, draft]: EncodedHold,
  isCovered: boolean,
): AdmitOperation {
  const amounts = isCovered ? { amount: BigInt(amount), byok: BigInt(byok) } : noAmounts
  const request = { id, subjects: subjects.split(' '), day, limits: [], free: null, ...amounts }
  return {
    op: 'admit',
    organizationId: '',
    owner,
    expiresAt,
    draft: decodeDraft(JSON.stringify(draft)),
    request,
  }
}
