import { closeDb, openDb } from '../../src/db/db.ts'
import { checkLedger } from '../../src/ledger/check.ts'
import { startsOf } from '../../src/ledger/meter.ts'
import { subjects } from '../../src/ledger/subjects.ts'
import type { Told } from './clients.ts'
import { type JournalEntry, listPrice } from './vendor.ts'

/** What our own books say. */
export type Ledger = Awaited<ReturnType<typeof readLedger>>

export async function readLedger(databaseUrl: string) {
  const db = openDb(databaseUrl)
  try {
    return {
      generations: await db.selectFrom('generations').selectAll().execute(),
      entries: await db.selectFrom('ledger_entries').selectAll().execute(),
      meters: await db.selectFrom('meters').selectAll().execute(),
      corrections: await db.selectFrom('corrections').selectAll().execute(),
      holds: await db.selectFrom('holds').select(['id', 'owner']).execute(),
      findings: (await checkLedger(db)).findings,
    }
  } finally {
    await closeDb(db)
  }
}

type Generation = Ledger['generations'][number]

export interface Figures {
  requests: number
  completed: number
  cancelled: number
  interrupted: number
  /** Of these, those that are charged for what had come of them. */
  'of them charged': number
  refused: number
  'sent away': number
  lost: number
  doubled: number
}

export interface Comparison {
  /** In words; none when the three books agree. */
  problems: string[]
  figures: Figures
}

/** I5: the vendor's journal, what clients were told, and the ledger, held against each other. */
export function compareBooks(
  journal: readonly JournalEntry[],
  told: readonly Told[],
  ledger: Ledger,
): Comparison {
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
      generationProblems(generation, journalByNumber.get(generation.external_user ?? '')?.[0]),
    ),
    ...told.flatMap((client) =>
      clientProblems(client, byNumber.get(client.number)?.[0], journalByNumber.has(client.number)),
    ),
    ...holdProblems(ledger),
    ...ledgerProblems(ledger),
    // The operator's own check must come to the same result.
    ...ledger.findings.flatMap(({ invariant, violations }) =>
      violations.map((violation) => `check-ledger ${invariant}: ${violation}`),
    ),
  ]
  return { problems, figures: figuresOf(told, ledger, lost.length, doubled.length) }
}

/** What must be true of the ledger alone, at any moment. */
export function ledgerProblems(ledger: Ledger): string[] {
  return [...meterProblems(ledger), ...entryProblems(ledger)]
}

function figuresOf(told: readonly Told[], { generations }: Ledger, lost: number, doubled: number): Figures {
  const interrupted = generations.filter(({ flag }) => flag === 'interrupted')
  const having = (status: string) => generations.filter((row) => row.status === status).length
  const answered = (...statuses: number[]) =>
    told.filter(({ status }) => statuses.includes(status ?? 0)).length
  return {
    requests: told.length,
    completed: having('completed'),
    cancelled: having('cancelled'),
    interrupted: interrupted.length,
    'of them charged': interrupted.filter(({ cost_nanos }) => cost_nanos > 0n).length,
    refused: answered(402, 403),
    'sent away': answered(503),
    lost,
    doubled,
  }
}

function generationProblems(generation: Generation, entry: JournalEntry | undefined): string[] {
  const { external_user, cost_nanos, hold_nanos, status, flag } = generation
  const problems: string[] = []
  const complain = (text: string) => problems.push(`${external_user} (${status}, ${flag}): ${text}`)
  if (cost_nanos < 0n || cost_nanos > hold_nanos)
    complain(`I4 cost ${cost_nanos} is not within ${hold_nanos}`)
  if (flag === 'interrupted' && status !== 'failed') complain('interrupted, and not failed')
  if (status === 'failed' && flag !== 'interrupted' && cost_nanos > 0n) complain('failed, and charged')
  if (!entry) {
    if (cost_nanos > 0n || status === 'completed')
      complain(`charged ${cost_nanos}, and the vendor never saw it`)
    return problems
  }
  const most = listPrice(entry.model, entry.produced)
  if (status === 'completed' && cost_nanos !== most) complain(`cost ${cost_nanos}, the vendor billed ${most}`)
  if (status === 'completed' && entry.completion === null) complain('the vendor never ended it')
  if (cost_nanos > most) complain(`cost ${cost_nanos}, the vendor made no more than ${most}`)
  return problems
}

function clientProblems(client: Told, generation: Generation | undefined, wasSent: boolean): string[] {
  const { number, status, ended, cost, events, generationId } = client
  const problems: string[] = []
  const complain = (text: string) => problems.push(`${number} (${status}): ${text}`)
  if (status === 402 && (wasSent || generation)) complain('R1 refused, and sent to the vendor')
  if (ended && !generation) complain('I5 the client saw the end, the ledger knows nothing')
  if (!generation) return problems
  if (generationId !== null && generation.id !== generationId)
    complain('I5 another id than the client was told')
  // The client may leave when all is over: it then saw the end of what was settled as left.
  if (ended && generation.status === 'failed') complain('I5 the client saw the end of what failed')
  if (cost !== null && Number(generation.cost_nanos) / 1e9 !== cost) {
    complain(`I5 told ${cost}, charged ${generation.cost_nanos}`)
  }
  const isWhole = generation.flag !== 'interrupted' && generation.status !== 'failed'
  if (isWhole && events > generation.tokens_output)
    complain(`R4 saw ${events} tokens, charged ${generation.tokens_output}`)
  return problems
}

/** R2: nothing is set aside for requests that are over. */
function holdProblems({ holds, meters }: Ledger): string[] {
  const held = meters.flatMap((meter) =>
    Object.entries(meter).flatMap(([column, value]) =>
      column.startsWith('held_') && value !== 0n ? [`R2 ${meter.subject}: ${column} is ${value}`] : [],
    ),
  )
  return [...holds.map(({ id, owner }) => `R2 ${id}: its hold is left, of ${owner}`), ...held]
}

/** R2: what meters say is what generations add up to. */
function meterProblems({ generations, meters }: Ledger): string[] {
  const sums = new Map<string, { total: bigint; day: bigint; week: bigint; month: bigint }>()
  const days = new Map(meters.map((meter) => [meter.subject, meter]))
  for (const row of generations) {
    const names = [
      subjects.organization(row.organization_id),
      subjects.workspace(row.workspace_id),
      subjects.key(row.key_id),
      ...(row.user_id ? [subjects.member(row.workspace_id, row.user_id)] : []),
    ]
    const day = row.created_at.slice(0, 10)
    for (const name of names) {
      const sum = sums.get(name) ?? { total: 0n, day: 0n, week: 0n, month: 0n }
      const meter = days.get(name)
      sum.total += row.cost_nanos
      if (day === meter?.day) sum.day += row.cost_nanos
      if (startsOf(day).week === meter?.week) sum.week += row.cost_nanos
      if (startsOf(day).month === meter?.month) sum.month += row.cost_nanos
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
function entryProblems({ generations, corrections, entries }: Ledger): string[] {
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
      problems.push(`${transaction}: ${-credits.amount_nanos} taken for ${cost}`)
    costs.delete(transaction)
  }
  return [...problems, ...[...costs.keys()].map((id) => `${id}: generations name it, no entry does`)]
}
