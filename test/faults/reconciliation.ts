import { checkLedger } from '../../src/ledger/check.ts'
import { leasePattern } from '../../src/ledger/lease-id.ts'
import { windowStartsOf } from '../../src/ledger/meter.ts'
import { meterSubjects } from '../../src/ledger/meter-subjects.ts'
import { closeDb, openDb } from '../../src/platform/db/db.ts'
import type { HoldTable, MeterTable } from '../../src/platform/db/schema.ts'
import { requestHolds } from '../support/holds.ts'
import type { ClientOutcome } from './clients.ts'
import { listPrice, type VendorRecord } from './vendor.ts'

/** The gateway's own records. */
export type LedgerSnapshot = Awaited<ReturnType<typeof readLedgerSnapshot>>

export async function readLedgerSnapshot(databaseUrl: string) {
  const db = openDb(databaseUrl)
  try {
    return {
      generations: await db.selectFrom('generations').selectAll().execute(),
      entries: await db.selectFrom('ledger_entries').selectAll().execute(),
      meters: withoutLeases(
        await db.selectFrom('meters').selectAll().execute(),
        await db.selectFrom('holds').selectAll().where('id', 'like', leasePattern).execute(),
      ),
      corrections: await db.selectFrom('corrections').selectAll().execute(),
      holds: await requestHolds(db).select(['id', 'owner']).execute(),
      findings: (await checkLedger(db)).findings,
    }
  } finally {
    await closeDb(db)
  }
}

/** What requests hold: leases are reserved for others. */
export function withoutLeases(meters: readonly MeterTable[], leases: readonly HoldTable[]): MeterTable[] {
  return meters.map((row) => {
    const meter = { ...row }
    for (const { subjects, day, amount_nanos, byok_nanos } of leases) {
      if (!subjects.split(' ').includes(row.subject)) continue
      const { week, month } = windowStartsOf(day)
      const windows = ['total', ...(day === row.day ? ['day'] : []), ...(week === row.week ? ['week'] : [])]
      if (month === row.month) windows.push('month')
      for (const window of windows as ('total' | 'day' | 'week' | 'month')[]) {
        meter[`held_${window}_nanos`] -= amount_nanos
        meter[`held_byok_${window}_nanos`] -= byok_nanos
      }
    }
    return meter
  })
}

type Generation = LedgerSnapshot['generations'][number]

export interface RunTotals {
  requests: number
  completed: number
  cancelled: number
  interrupted: number
  /** Interrupted requests that were charged for the output until then. */
  'of them charged': number
  refused: number
  unavailable: number
  lost: number
  doubled: number
}

export interface Reconciliation {
  /** Readable; empty when vendor, clients and ledger agree. */
  problems: string[]
  totals: RunTotals
}

/** I5: compares the vendor's log, the costs reported to clients, and the ledger. */
export function reconcileBooks(
  journal: readonly VendorRecord[],
  outcomes: readonly ClientOutcome[],
  ledger: LedgerSnapshot,
): Reconciliation {
  const byNumber = Map.groupBy(ledger.generations, (generation) => generation.external_user ?? '')
  const journalByNumber = Map.groupBy(journal, ({ number }) => number)
  const lost = journal.filter(({ number }) => !byNumber.has(number))
  const doubled = [...byNumber].filter(([, generations]) => generations.length > 1)
  const problems = [
    ...lost.map(({ number }) => `I2 ${number}: the vendor knows it, the ledger does not`),
    ...doubled.map(([number]) => `I2 ${number}: settled more than once`),
    ...[...journalByNumber].flatMap(([number, entries]) =>
      entries.length > 1 ? [`I11 ${number}: sent to the vendor more than once`] : [],
    ),
    ...ledger.generations.flatMap((generation) =>
      findGenerationProblems(generation, journalByNumber.get(generation.external_user ?? '')?.[0]),
    ),
    ...outcomes.flatMap((client) =>
      findClientProblems(client, byNumber.get(client.number)?.[0], journalByNumber.has(client.number)),
    ),
    ...findHoldProblems(ledger),
    ...findLedgerProblems(ledger),
    // check-ledger must come to the same result.
    ...ledger.findings.flatMap(({ invariant, violations }) =>
      violations.map((violation) => `check-ledger ${invariant}: ${violation}`),
    ),
  ]
  return { problems, totals: countTotals(outcomes, ledger, lost.length, doubled.length) }
}

/** Invariants of the ledger alone, at any moment. */
export function findLedgerProblems(ledger: LedgerSnapshot): string[] {
  return [...findMeterProblems(ledger), ...findEntryProblems(ledger)]
}

function countTotals(
  outcomes: readonly ClientOutcome[],
  { generations }: LedgerSnapshot,
  lost: number,
  doubled: number,
): RunTotals {
  const interrupted = generations.filter(({ flag }) => flag === 'interrupted')
  const having = (status: string) => generations.filter((row) => row.status === status).length
  const countStatuses = (...statuses: number[]) =>
    outcomes.filter(({ status }) => statuses.includes(status ?? 0)).length
  return {
    requests: outcomes.length,
    completed: having('completed'),
    cancelled: having('cancelled'),
    interrupted: interrupted.length,
    'of them charged': interrupted.filter(({ cost_nanos }) => cost_nanos > 0n).length,
    refused: countStatuses(402, 403),
    unavailable: countStatuses(503),
    lost,
    doubled,
  }
}

function findGenerationProblems(generation: Generation, entry: VendorRecord | undefined): string[] {
  const { external_user, cost_nanos, hold_nanos, status, flag } = generation
  const problems: string[] = []
  const addProblem = (text: string) => problems.push(`${external_user} (${status}, ${flag}): ${text}`)
  if (cost_nanos < 0n || cost_nanos > hold_nanos)
    addProblem(`I4 cost ${cost_nanos} is not within ${hold_nanos}`)
  if (flag === 'interrupted' && status !== 'failed') addProblem('interrupted, and not failed')
  if (status === 'failed' && flag !== 'interrupted' && cost_nanos > 0n) addProblem('failed, and charged')
  if (!entry) {
    if (cost_nanos > 0n || status === 'completed')
      addProblem(`charged ${cost_nanos}, and the vendor never saw it`)
    return problems
  }
  const maxCost = listPrice(entry.model, entry.produced)
  if (status === 'completed' && cost_nanos !== maxCost)
    addProblem(`cost ${cost_nanos}, the vendor billed ${maxCost}`)
  if (status === 'completed' && entry.completion === null) addProblem('the vendor never ended it')
  if (cost_nanos > maxCost) addProblem(`cost ${cost_nanos}, the vendor made no more than ${maxCost}`)
  return problems
}

function findClientProblems(
  client: ClientOutcome,
  generation: Generation | undefined,
  wasSent: boolean,
): string[] {
  const { number, status, ended, cost, events, generationId } = client
  const problems: string[] = []
  const addProblem = (text: string) => problems.push(`${number} (${status}): ${text}`)
  if (status === 402 && (wasSent || generation)) addProblem('R1 refused, and sent to the vendor')
  if (ended && !generation) addProblem('I5 the client saw the end, the ledger knows nothing')
  if (!generation) return problems
  if (generationId !== null && generation.id !== generationId)
    addProblem('I5 another id than the client received')
  // A client may disconnect at the very end: it has the whole reply, settled as canceled.
  if (ended && generation.status === 'failed') addProblem('I5 the client saw the end of what failed')
  if (cost !== null && Number(generation.cost_nanos) / 1e9 !== cost) {
    addProblem(`I5 reported ${cost}, charged ${generation.cost_nanos}`)
  }
  const isWhole = generation.flag !== 'interrupted' && generation.status !== 'failed'
  if (isWhole && events > generation.tokens_output)
    addProblem(`R4 saw ${events} tokens, charged ${generation.tokens_output}`)
  return problems
}

/** R2: no hold of a request that has ended. */
function findHoldProblems({ holds, meters }: LedgerSnapshot): string[] {
  const held = meters.flatMap((meter) =>
    Object.entries(meter).flatMap(([column, value]) =>
      column.startsWith('held_') && value !== 0n ? [`R2 ${meter.subject}: ${column} is ${value}`] : [],
    ),
  )
  return [...holds.map(({ id, owner }) => `R2 ${id}: its hold is left, of ${owner}`), ...held]
}

/** R2: meters equal the sums of generations. */
function findMeterProblems({ generations, meters }: LedgerSnapshot): string[] {
  const sums = new Map<string, { total: bigint; day: bigint; week: bigint; month: bigint }>()
  const days = new Map(meters.map((meter) => [meter.subject, meter]))
  // The declared limits of a scenario count all of its requests.
  const declared = [...days.keys()].filter((subject) => subject.startsWith('limit:'))
  for (const row of generations) {
    const names = [
      meterSubjects.organization(row.organization_id),
      meterSubjects.workspace(row.workspace_id),
      meterSubjects.key(row.key_id),
      ...(row.user_id ? [meterSubjects.member(row.workspace_id, row.user_id)] : []),
      ...declared,
    ]
    const day = row.created_at.slice(0, 10)
    for (const name of names) {
      const sum = sums.get(name) ?? { total: 0n, day: 0n, week: 0n, month: 0n }
      const meter = days.get(name)
      sum.total += row.cost_nanos
      if (day === meter?.day) sum.day += row.cost_nanos
      if (windowStartsOf(day).week === meter?.week) sum.week += row.cost_nanos
      if (windowStartsOf(day).month === meter?.month) sum.month += row.cost_nanos
      sums.set(name, sum)
    }
  }
  const problems = [...sums.keys()].flatMap((name) => (days.has(name) ? [] : [`${name}: no meter`]))
  for (const meter of meters) {
    const sum = sums.get(meter.subject) ?? { total: 0n, day: 0n, week: 0n, month: 0n }
    for (const window of ['total', 'day', 'week', 'month'] as const) {
      const metered = meter[`${window}_nanos`]
      if (metered !== sum[window])
        problems.push(`${meter.subject}: ${window} ${metered}, requests ${sum[window]}`)
    }
  }
  return problems
}

/** I1: every transaction sums to zero, and charges are what generations cost. */
function findEntryProblems({ generations, corrections, entries }: LedgerSnapshot): string[] {
  const problems: string[] = []
  const costs = new Map<string, bigint>()
  const add = (id: string, posting: string | null, cost: bigint) => {
    if (posting !== null) costs.set(posting, (costs.get(posting) ?? 0n) + cost)
    else if (cost !== 0n) problems.push(`${id}: costs ${cost}, and is in no posting`)
  }
  const corrected = new Map(corrections.map((correction) => [correction.generation_id, correction]))
  for (const { id, posting_id, cost_nanos } of generations) {
    const correction = corrected.get(id)
    if (!correction) add(id, posting_id, cost_nanos)
    else {
      add(id, correction.previous_posting_id, correction.previous_cost_nanos)
      add(id, correction.posting_id, cost_nanos - correction.previous_cost_nanos)
    }
  }
  for (const [transaction, lines] of Map.groupBy(entries, (entry) => entry.transaction_id)) {
    const sum = lines.reduce((total, { amount_nanos }) => total + amount_nanos, 0n)
    if (sum !== 0n) problems.push(`I1 ${transaction}: sums to ${sum}`)
    const credits = lines.find(({ account }) => account === 'credits')
    if (credits?.kind !== 'charge') continue
    const cost = costs.get(transaction) ?? 0n
    if (-credits.amount_nanos !== cost)
      problems.push(`${transaction}: ${-credits.amount_nanos} debited for ${cost}`)
    costs.delete(transaction)
  }
  return [...problems, ...[...costs.keys()].map((id) => `${id}: generations name it, no entry does`)]
}
