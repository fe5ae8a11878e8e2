import { expect, test } from 'bun:test'
import { sql } from 'kysely'
import { type Bench, describeWithUpstreams, sendRequest } from '../../test/inference/two-upstreams.ts'
import { describeOnEachDatabase } from '../../test/support/harness.ts'
import { deleteOldGenerations, runMaintenance } from '../analytics/rollups/retention.ts'
import { rollUp } from '../analytics/rollups/roll-up.ts'
import { closeDb, openDb } from '../platform/db/db.ts'
import { checkLedger } from './check.ts'
import { compactEntries } from './compaction.ts'
import { postFunding } from './entries.ts'

const days = ['2026-03-01', '2026-03-02', '2026-03-03']

/** Two organizations, three days, a charge with a BYOK key each day; each request is a posting. */
async function spendOnDays(bench: Bench): Promise<void> {
  const { server } = bench
  const pay = async (key: string) => {
    await (await sendRequest(bench, 'chat', { model: 'test/cent' }, { key })).text()
    await server.gateway.ledger.flush()
    server.clock.advance(1000)
  }
  const body = { provider: 'one-chat', key: 'own-credential-0123456789', is_byok_only: true }
  for (const day of days) {
    server.clock.freeze(`${day}T10:00:00.000Z`)
    for (let count = 0; count < 3; count++) await pay(server.own.inferenceKey)
    await pay(server.foreign.inferenceKey)
    const { data } = (await server.call('POST', '/byok', { body })).body
    await pay(server.own.inferenceKey)
    await server.call('DELETE', `/byok/${data.id}`)
  }
}

describeWithUpstreams('compaction of the ledger', (bench) => {
  const gateway = () => bench().server.gateway

  async function problems(): Promise<string[]> {
    return (await checkLedger(gateway().db)).findings.flatMap(({ violations }) => violations)
  }

  async function readTotals() {
    const { server } = bench()
    const { entries: _, generations: __, ...totals } = (await checkLedger(gateway().db)).figures
    const key = await server.call('GET', '/key', { key: server.own.inferenceKey })
    const credits = await server.call('GET', '/credits')
    return { totals, usage: key.body.data.usage, credits: credits.body.data }
  }

  const charges = () =>
    gateway().db.selectFrom('ledger_entries').selectAll().where('kind', '=', 'charge').execute()

  test('R23 I1 I3 I6 charges of a day become one posting, whose generations name it, and nothing else changes', async () => {
    const organizationId = bench().server.foreign.organization.id
    await postFunding(gateway().db, {
      ...{ organizationId, kind: 'grant', amount: 1_000_000_000n, note: null },
      ...{ transactionId: 'txn-foreign', at: '2026-01-01T00:00:00.000Z' },
    })
    await spendOnDays(bench())
    const before = await readTotals()
    expect(await charges()).toHaveLength(3 * 5 * 2)
    expect(await problems()).toEqual([])

    expect(await compactEntries(gateway().db, '2026-03-02T23:59:59.999Z', { maxEntries: 3 })).toBe(2 * 5 * 2)
    const own = bench().server.own.organization.id
    const summaries = (await charges()).filter((row) => row.transaction_id === `charges-2026-03-01-${own}`)
    expect(summaries.toSorted((a, b) => a.account.localeCompare(b.account))).toMatchObject([
      { account: 'byok_fees', amount_nanos: 500_000n, entry_count: 1 },
      {
        account: 'credits',
        amount_nanos: -30_500_000n,
        entry_count: 4,
        last_entry_at: '2026-03-01T10:00:04.000Z',
      },
      { account: 'revenue', amount_nanos: 30_000_000n, entry_count: 3 },
    ])
    expect(await readTotals()).toEqual(before)
    expect(await problems()).toEqual([])
    expect(await compactEntries(gateway().db, '2026-03-02T23:59:59.999Z')).toBe(0)
  })

  test.each([
    ["account = 'credits'", ['I1', 'I3', 'I6']],
    ["account = 'revenue'", ['I1']],
  ])('I1 I3 I6 a nano-dollar too much in a summary is reported (%s)', async (condition, expected) => {
    const change = (sign: string) =>
      sql
        .raw(`update ledger_entries set amount_nanos = amount_nanos ${sign} 1
          where entry_count is not null and created_at > '2026-03-02' and ${condition}`)
        .execute(gateway().db)
    await change('+')
    const { findings } = await checkLedger(gateway().db)
    await change('-')
    const violated = findings.filter(({ violations }) => violations.length > 0)
    expect([...new Set(violated.map(({ invariant }) => invariant))].sort()).toEqual(expected)
  })

  test('R22 two nodes at once compact each posting once', async () => {
    const before = await readTotals()
    const other = openDb(gateway().config.databaseUrl)
    const until = '2026-03-03T10:00:02.500Z'
    const options = { maxEntries: 1 }
    const done = await Promise.all([gateway().db, other].map((db) => compactEntries(db, until, options)))
    await closeDb(other)
    expect(done.reduce((sum, replaced) => sum + replaced, 0)).toBe(3 * 2)
    expect(await readTotals()).toEqual(before)
    expect(await problems()).toEqual([])
  })

  test('R23 I3 I6 retention deletes the generations of a summary in steps, and the invariants hold throughout', async () => {
    const { clock } = bench().server
    clock.freeze('2026-03-03T12:00:00.000Z')
    await rollUp({ db: gateway().db }, { minRows: 1 })
    const before = await readTotals()
    for (const now of ['2026-03-12T10:00:01.500Z', '2026-03-12T12:00:00.000Z', '2026-03-20T00:00:00.000Z']) {
      clock.freeze(now)
      await deleteOldGenerations({ db: gateway().db, clock }, 10)
      expect(await problems()).toEqual([])
      await runMaintenance({ db: gateway().db, clock }, { retentionDays: 10, postingDays: 10 })
      expect(await problems()).toEqual([])
    }
    expect(await gateway().db.selectFrom('generations').select('id').execute()).toEqual([])
    expect(await charges()).toHaveLength(3 * (3 + 2))
    expect((await readTotals()).totals).toEqual(before.totals)
    // Later postings come after the compacted ones.
    clock.freeze('2026-04-01T00:00:00.000Z')
    await (await sendRequest(bench(), 'chat', { model: 'test/cent' })).text()
    await gateway().ledger.flush()
    expect(await compactEntries(gateway().db, '2026-04-02')).toBe(2)
  })
})

describeOnEachDatabase('compaction of charges in any order', (server) => {
  const db = () => server().gateway.db
  const early = '2026-01-02T00:00:00.000Z'

  async function post(id: string, created_at: string): Promise<void> {
    const organization_id = server().own.organization.id
    const entry = { transaction_id: id, organization_id, kind: 'charge', note: null, created_at }
    await db()
      .insertInto('ledger_entries')
      .values([
        { ...entry, account: 'credits', amount_nanos: -1n },
        { ...entry, account: 'revenue', amount_nanos: 1n },
      ])
      .execute()
  }

  const uncompacted = async () => {
    const entries = db().selectFrom('ledger_entries').select('transaction_id').distinct()
    const rows = await entries.where('kind', '=', 'charge').where('entry_count', 'is', null).execute()
    return rows.map((row) => row.transaction_id)
  }

  test('R23 charges of a clock that was ahead block no others, and are compacted when they are due', async () => {
    await post('post-first', '2026-01-01T00:00:00.000Z')
    await post('post-ahead', '2036-01-01T00:00:00.000Z')
    for (let count = 0; count < 5; count++) await post(`post-${count}`, early)
    expect(await compactEntries(db(), '2028-01-01T00:00:00.000Z', { maxEntries: 2 })).toBe(12)
    expect(await uncompacted()).toEqual(['post-ahead'])
    expect(await compactEntries(db(), '2036-02-01T00:00:00.000Z')).toBe(2)
    expect(await uncompacted()).toEqual([])
  })

  test('R23 a run ends when its time is up, and the next one continues from there', async () => {
    for (const id of ['post-a', 'post-b', 'post-c']) await post(id, early)
    const step = { maxEntries: 2, maxRunMs: 0 }
    expect(await compactEntries(db(), early, step)).toBe(2)
    expect(await uncompacted()).toHaveLength(2)
    expect(await compactEntries(db(), early, step)).toBe(2)
    expect(await compactEntries(db(), early)).toBe(2)
    expect(await uncompacted()).toEqual([])
  })
})
