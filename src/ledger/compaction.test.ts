import { expect, test } from 'bun:test'
import { sql } from 'kysely'
import { ask, type Bench, describeWithUpstreams } from '../../test/inference/support.ts'
import { closeDb, openDb } from '../db/db.ts'
import { checkLedger } from './check.ts'
import { compactEntries } from './compaction.ts'
import { postFunding } from './entries.ts'
import { dropOldGenerations, tidyRecords } from './rollups/retention.ts'
import { rollUp } from './rollups/roll.ts'

const days = ['2026-03-01', '2026-03-02', '2026-03-03']

/** Two organizations, three days, a charge with an own key each day; each request is a posting. */
async function spendOnDays(bench: Bench): Promise<void> {
  const { server } = bench
  const pay = async (key: string) => {
    await (await ask(bench, 'chat', { model: 'test/cent' }, { key })).text()
    await server.gateway.ledger.caughtUp()
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

  async function figures() {
    const { server } = bench()
    const { entries: _, generations: __, ...sums } = (await checkLedger(gateway().db)).figures
    const key = await server.call('GET', '/key', { key: server.own.inferenceKey })
    const credits = await server.call('GET', '/credits')
    return { sums, usage: key.body.data.usage, credits: credits.body.data }
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
    const before = await figures()
    expect(await charges()).toHaveLength(3 * 5 * 2)
    expect(await problems()).toEqual([])

    expect(await compactEntries(gateway().db, '2026-03-02T23:59:59.999Z', 3)).toBe(2 * 5 * 2)
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
    expect(await figures()).toEqual(before)
    expect(await problems()).toEqual([])
    expect(await compactEntries(gateway().db, '2026-03-02T23:59:59.999Z')).toBe(0)
  })

  test.each([
    ["account = 'credits'", ['I1', 'I3', 'I6']],
    ["account = 'revenue'", ['I1']],
  ])('I1 I3 I6 a nano-dollar too much in a summary is found (%s)', async (condition, expected) => {
    const change = (sign: string) =>
      sql
        .raw(`update ledger_entries set amount_nanos = amount_nanos ${sign} 1
          where entry_count is not null and created_at > '2026-03-02' and ${condition}`)
        .execute(gateway().db)
    await change('+')
    const { findings } = await checkLedger(gateway().db)
    await change('-')
    const found = findings.filter(({ violations }) => violations.length > 0)
    expect([...new Set(found.map(({ invariant }) => invariant))].sort()).toEqual(expected)
  })

  test('R22 two nodes at once compact each posting once', async () => {
    const before = await figures()
    const other = openDb(gateway().config.databaseUrl)
    const until = '2026-03-03T10:00:02.500Z'
    const done = await Promise.all([compactEntries(gateway().db, until, 1), compactEntries(other, until, 1)])
    await closeDb(other)
    expect(done[0] + done[1]).toBe(3 * 2)
    expect(await figures()).toEqual(before)
    expect(await problems()).toEqual([])
  })

  test('R23 I3 I6 retention takes the generations of a summary away bit by bit, and the books agree throughout', async () => {
    const { clock } = bench().server
    clock.freeze('2026-03-03T12:00:00.000Z')
    await rollUp({ db: gateway().db }, { fewest: 1 })
    const before = await figures()
    for (const now of ['2026-03-12T10:00:01.500Z', '2026-03-12T12:00:00.000Z', '2026-03-20T00:00:00.000Z']) {
      clock.freeze(now)
      await dropOldGenerations({ db: gateway().db, clock }, 10)
      expect(await problems()).toEqual([])
      await tidyRecords({ db: gateway().db, clock }, { retentionDays: 10, postingDays: 10 })
      expect(await problems()).toEqual([])
    }
    expect(await gateway().db.selectFrom('generations').select('id').execute()).toEqual([])
    expect(await charges()).toHaveLength(3 * (3 + 2))
    expect((await figures()).sums).toEqual(before.sums)
    // What is posted from now on is found behind what was compacted.
    clock.freeze('2026-04-01T00:00:00.000Z')
    await (await ask(bench(), 'chat', { model: 'test/cent' })).text()
    await gateway().ledger.caughtUp()
    expect(await compactEntries(gateway().db, '2026-04-02')).toBe(2)
  })
})
