import { type RawBuilder, sql } from 'kysely'
import { type Db, isPostgres, runInSnapshot } from '../platform/db/db.ts'
import type { MeterTable } from '../platform/db/schema.ts'
import { usdFromNanos } from '../platform/money/money.ts'
import { jobOwner } from './engine.ts'
import { leasePattern } from './lease-id.ts'
import { addToCounter, type Meter, newMeter, type Window, windowNames } from './meter.ts'

/** An invariant, how many rows were checked, and which violate it. */
export interface Finding {
  invariant: string
  statement: string
  looked_at: number
  violations: string[]
}

export interface LedgerTotals {
  entries: number
  generations: number
  holds: number
  /** Requests whose charge a crash made unknown, and what was held for them. */
  unrecovered: number
  unrecovered_nanos: bigint
  credits_nanos: bigint
  spent_nanos: bigint
  held_nanos: bigint
  balance_nanos: bigint
}

export function toUsdTotals({
  unrecovered_nanos,
  credits_nanos,
  spent_nanos,
  held_nanos,
  balance_nanos,
  ...counts
}: LedgerTotals) {
  return {
    ...counts,
    unrecovered_usd: usdFromNanos(unrecovered_nanos),
    credits_usd: usdFromNanos(credits_nanos),
    spent_usd: usdFromNanos(spent_nanos),
    held_usd: usdFromNanos(held_nanos),
    balance_usd: usdFromNanos(balance_nanos),
  }
}

export interface LedgerCheck {
  sound: boolean
  findings: Finding[]
  figures: LedgerTotals
}

/** Number of violations that is enough to diagnose a problem, however large it is. */
const maxViolationsShown = 20

type InvariantCheck = (db: Db) => Promise<Finding>

/** Checks every invariant against one snapshot, while the server keeps running. */
export function checkLedger(db: Db): Promise<LedgerCheck> {
  return runInSnapshot(db, async (tx) => {
    const findings: Finding[] = []
    for (const check of checks) findings.push(await check(tx))
    const figures = await loadTotals(tx)
    return { sound: findings.every(({ violations }) => violations.length === 0), findings, figures }
  })
}

/** Generations that were corrected after the roll-ups counted them, with the amounts they counted. */
const reversedUsage = sql`(select generations.organization_id, workspace_id, key_id, user_id,
    generations.created_at, previous_cost_nanos, previous_byok_nanos
  from unrolled_generations join generations on generations.id = unrolled_generations.generation_id
  join corrections on corrections.generation_id = generations.id where previous is not null) as taken_back`

const checks: InvariantCheck[] = [
  createComparison({
    invariant: 'I1',
    statement: 'the entries of every transaction sum to zero',
    rows: sql`select transaction_id as subject, sum(amount_nanos) as left_nanos, 0 as right_nanos
      from ledger_entries group by transaction_id`,
  }),
  createComparison({
    invariant: 'I2',
    statement: 'no settled generation has a hold',
    rows: sql`select holds.id as subject, 0 as left_nanos,
        case when generations.id is null then 0 else 1 end as right_nanos
      from holds left join generations on generations.id = holds.id`,
  }),
  createComparison({
    invariant: 'I2',
    statement: 'every hold of a job belongs to a job that has not ended',
    rows: sql`select holds.id as subject, 0 as left_nanos,
        case when video_jobs.id is null then 1 else 0 end as right_nanos
      from holds left join video_jobs on video_jobs.generation_id = holds.id
        and video_jobs.status in ('pending', 'in_progress')
      where holds.owner = ${sql.lit(jobOwner)}`,
  }),
  createComparison({
    invariant: 'I3',
    statement: 'every posting equals the cost of its generations, each counted once',
    rows: sql`select posting_id as subject, cost_nanos as left_nanos, coalesce(-credits_nanos, 0) as right_nanos
      from (select posting_id, sum(cost_nanos) as cost_nanos from (
        select posting_id, cost_nanos from generations
          where posting_id is not null and id not in (select generation_id from corrections)
        union all select previous_posting_id, previous_cost_nanos from corrections
          where previous_posting_id is not null
        union all select posting_id, difference_nanos from corrections where posting_id is not null
      ) as shares group by posting_id) as postings
      left join (select transaction_id, min(created_at) as posted_at,
          sum(case when account = 'credits' then amount_nanos else 0 end) as credits_nanos
        from ledger_entries group by transaction_id) as posted on transaction_id = posting_id
      -- Of the oldest, some generations may be on their way out.
      where posted_at is null or posted_at > (select min(ended_at) from generations)`,
  }),
  createComparison({
    invariant: 'I3',
    statement: 'every posting that a generation names exists',
    rows: sql`select id as subject, 0 as left_nanos,
        case when posting_id in (select transaction_id from ledger_entries) then 0 else 1 end as right_nanos
      from generations where posting_id is not null`,
  }),
  createComparison({
    invariant: 'I3',
    statement: 'the cost of a corrected generation equals its first posting plus its correction',
    rows: sql`select id as subject, cost_nanos as left_nanos,
        previous_cost_nanos + difference_nanos as right_nanos
      from corrections join generations on id = generation_id`,
  }),
  createComparison({
    invariant: 'I3',
    statement: 'every generation with a cost has a posting, and no other has',
    rows: sql`select id as subject, case when cost_nanos = 0 then 0 else 1 end as left_nanos,
        case when posting_id is null then 0 else 1 end as right_nanos
      from generations where hold_nanos > 0 or posting_id is not null`,
  }),
  checkHeldTotals,
  createComparison({
    invariant: 'I4',
    statement: 'no charge is negative or exceeds its hold',
    rows: sql`select id as subject, 0 as left_nanos,
        case when cost_nanos < 0 or cost_nanos > hold_nanos then 1 else 0 end as right_nanos
      from generations where hold_nanos > 0 or posting_id is not null`,
  }),
  createComparison({
    invariant: 'I6',
    statement: 'the usage of every organization equals what was posted against its credits',
    rows: sql`select subject, sum(metered_nanos) as left_nanos, sum(posted_nanos) as right_nanos from (
        select subject, total_nanos as metered_nanos, 0 as posted_nanos from meters
          where subject like 'organization:%'
        union all select 'organization:' || organization_id, 0, -amount_nanos from ledger_entries
          where account = 'credits' and kind = 'charge') as both_sides group by subject`,
  }),
  createWindowCheck('week'),
  createWindowCheck('month'),
  createComparison({
    invariant: 'I6',
    statement: 'the usage of every key on every day equals the sum of its generations and its opening spend',
    rows: sql`select subject || ' ' || day as subject, sum(metered_nanos) as left_nanos,
        sum(recorded_nanos) as right_nanos from (
        select subject, day, day_nanos as metered_nanos, 0 as recorded_nanos from meters
          where subject like 'key:%' and day <> ''
        union all select subject, day, spent_nanos, 0 from meter_days where subject like 'key:%'
        union all select 'key:' || key_id, day, 0, usage_nanos from key_days
        union all select 'key:' || key_id, substr(created_at, 1, 10), 0, cost_nanos from generations
          where id in (select generation_id from unrolled_generations)
        union all select 'key:' || key_id, substr(created_at, 1, 10), 0, -previous_cost_nanos from ${reversedUsage}
        union all select subject, day, 0, day_nanos from opening_spend where subject like 'key:%' and day is not null
      ) as both_sides group by subject, day`,
  }),
  ...createUsageChecks('key', sql`'key:' || key_id`, sql`1 = 1`),
  ...createUsageChecks('workspace', sql`'workspace:' || workspace_id`, sql`1 = 1`),
  ...createUsageChecks('member', sql`'member:' || workspace_id || ':' || user_id`, sql`user_id <> ''`),
]

/** Checks that the totals of a meter for its week or month equal the sum of its days. */
function createWindowCheck(window: 'week' | 'month'): InvariantCheck {
  return (db) => {
    const lastDay =
      window === 'month'
        ? sql`substr(meters.month, 1, 8) || '31'`
        : isPostgres(db)
          ? sql`to_char(cast(nullif(meters.week, '') as date) + 6, 'YYYY-MM-DD')`
          : sql`date(meters.week, '+6 days')`
    const sides = dayCounters.map(({ prefix, column }) => {
      const [inWindow, inDay] = [sql.ref(`${prefix}${window}_nanos`), sql.ref(`${prefix}day_nanos`)]
      return sql`select meters.subject || ' ' || ${sql.lit(column)} as subject, ${inWindow} as left_nanos,
          ${inDay} + coalesce(sum(${sql.ref(column)}), 0) as right_nanos
        from meters left join meter_days on meter_days.subject = meters.subject and meters.day <> ''
          and meter_days.day >= ${sql.ref(`meters.${window}`)} and meter_days.day <= ${lastDay}
        group by meters.subject, ${inWindow}, ${inDay}`
    })
    const statement = `what every meter has spent and held in its ${window} equals the sum of its days`
    return createComparison({ invariant: 'I6', statement, rows: sql.join(sides, sql` union all `) })(db)
  }
}

const dayCounters = [
  { prefix: '', column: 'spent_nanos' },
  { prefix: 'byok_', column: 'byok_nanos' },
  { prefix: 'held_', column: 'held_nanos' },
  { prefix: 'held_byok_', column: 'held_byok_nanos' },
]

/** Usage as the API shows it, compared with the sum of past roll-ups and of generations not yet in them. */
function createUsageChecks(
  kind: string,
  subject: RawBuilder<unknown>,
  condition: RawBuilder<unknown>,
): InvariantCheck[] {
  const counters = [
    {
      name: 'usage',
      metered: sql`total_nanos`,
      rolled: sql`usage_nanos`,
      unrolled: sql`cost_nanos`,
      previous: sql`previous_cost_nanos`,
      opening: sql`amount_nanos`,
    },
    {
      name: 'BYOK usage',
      metered: sql`byok_total_nanos`,
      rolled: sql`byok_usage_nanos`,
      previous: sql`previous_byok_nanos`,
      unrolled: sql`case when is_byok = 1 then upstream_cost_nanos else 0 end`,
      opening: sql`0`,
    },
  ]
  return counters.map(({ name, metered, rolled, unrolled, previous, opening }) =>
    createComparison({
      invariant: 'I6',
      statement: `the ${name} of every ${kind} equals the sum of its generations and its opening spend`,
      rows: sql`select subject, sum(metered_nanos) as left_nanos, sum(recorded_nanos) as right_nanos from (
          select subject, ${metered} as metered_nanos, 0 as recorded_nanos from meters
            where subject like ${sql.lit(`${kind}:%`)}
          union all select ${subject}, 0, ${rolled} from key_days where ${condition}
          union all select ${subject}, 0, ${unrolled} from generations
            where ${condition} and id in (select generation_id from unrolled_generations)
          union all select ${subject}, 0, -${previous} from ${reversedUsage} where ${condition}
          union all select subject, 0, ${opening} from opening_spend where subject like ${sql.lit(`${kind}:%`)}
        ) as both_sides group by subject`,
    }),
  )
}

/** Checks that the held totals of a meter equal the sum of its holds, for each window. */
async function checkHeldTotals(db: Db): Promise<Finding> {
  const [holds, meters] = [
    await db.selectFrom('holds').select(['subjects', 'day', 'amount_nanos', 'byok_nanos']).execute(),
    await db.selectFrom('meters').selectAll().execute(),
  ]
  const expected = new Map(meters.map((row) => [row.subject, toEmptyMeter(row)]))
  const unmetered = new Set<string>()
  for (const { subjects, day, amount_nanos, byok_nanos } of holds) {
    for (const subject of subjects.split(' ')) {
      const meter = expected.get(subject)
      if (!meter) unmetered.add(subject)
      else {
        addToCounter(meter, 'held', day, amount_nanos)
        addToCounter(meter, 'heldByok', day, byok_nanos)
      }
    }
  }
  const unequal = meters.filter((row) => {
    const meter = expected.get(row.subject)
    return !meter || !windowNames.every((window) => hasEqualHolds(row, meter, window))
  })
  const wrong = [...unmetered, ...unequal.map(({ subject }) => subject)]
  return {
    invariant: 'I4',
    statement: 'what every meter has held equals the sum of its holds',
    looked_at: holds.length,
    violations: wrong
      .slice(0, maxViolationsShown)
      .map((subject) => `${subject}: what it has held differs from the sum of its holds`),
  }
}

function toEmptyMeter({ subject, day, week, month }: MeterTable): Meter {
  return { ...newMeter(subject), day, week, month }
}

function hasEqualHolds(row: MeterTable, { held, heldByok }: Meter, window: Window): boolean {
  return row[`held_${window}_nanos`] === held[window] && row[`held_byok_${window}_nanos`] === heldByok[window]
}

async function loadTotals(db: Db): Promise<LedgerTotals> {
  const { rows } = await sql<LedgerTotals>`select
    (select count(*) from ledger_entries) as entries,
    (select count(*) from generations) as generations,
    (select count(*) from holds where id not like ${leasePattern}) as holds,
    (select count(*) from generations where flag = 'unrecovered') as unrecovered,
    (select coalesce(sum(hold_nanos), 0) from generations where flag = 'unrecovered') as unrecovered_nanos,
    (select coalesce(sum(amount_nanos), 0) from ledger_entries
      where account = 'credits' and kind <> 'charge') as credits_nanos,
    (select coalesce(-sum(amount_nanos), 0) from ledger_entries
      where account = 'credits' and kind = 'charge') as spent_nanos,
    (select coalesce(sum(amount_nanos), 0) from holds where id not like ${leasePattern}) as held_nanos,
    (select coalesce(sum(amount_nanos), 0) from ledger_entries where account = 'credits') as balance_nanos`.execute(
    db,
  )
  const [totals] = rows
  if (!totals) throw new Error('a query without a table has a row')
  return totals
}

interface Comparison {
  invariant: string
  statement: string
  /** `subject`, `left_nanos`, `right_nanos`: the two must be equal. */
  rows: RawBuilder<unknown>
}

function createComparison({ invariant, statement, rows }: Comparison): InvariantCheck {
  return async (db) => {
    const counted = await sql<{ count: number }>`select count(*) as count from (${rows}) as compared`.execute(
      db,
    )
    const unequal = await sql<{ subject: string; left_nanos: bigint; right_nanos: bigint }>`
      select * from (${rows}) as compared where left_nanos <> right_nanos order by subject limit ${sql.lit(maxViolationsShown)}`.execute(
      db,
    )
    return {
      invariant,
      statement,
      looked_at: Number(counted.rows[0]?.count ?? 0),
      violations: unequal.rows.map(
        ({ subject, left_nanos, right_nanos }) => `${subject}: ${left_nanos} is not ${right_nanos}`,
      ),
    }
  }
}
