import { describe, expect, test } from 'bun:test'
import { sql } from 'kysely'
import { checkLedger } from '../../src/ledger/check.ts'
import { describeWithUpstreams, sendRequest } from './two-upstreams.ts'

describeWithUpstreams('check-ledger', (bench) => {
  const db = () => bench().server.gateway.db

  async function wrong(): Promise<string[]> {
    const { findings, sound } = await checkLedger(db())
    const found = findings.filter(({ violations }) => violations.length > 0)
    expect(sound).toBe(found.length === 0)
    return [...new Set(found.map(({ invariant }) => invariant))].sort()
  }

  test('I1 I2 I3 I4 I6 reports no violation after requests of every outcome, and counts them', async () => {
    bench().first.enqueue({ status: 500 }, { breakBeforeHead: true })
    for (let time = 0; time < 5; time++) {
      await (await sendRequest(bench(), 'chat', { model: 'test/cent' })).text()
      // Each in its own transaction: the oldest may be compacted already.
      await bench().server.gateway.ledger.flush()
    }
    await (await sendRequest(bench(), 'messages', { model: 'test/messages', stream: true })).text()
    expect(await wrong()).toEqual([])
    const { figures } = await checkLedger(db())
    expect(figures).toMatchObject({ generations: 6, holds: 0, held_nanos: 0n })
    expect(figures.credits_nanos - figures.spent_nanos).toBe(figures.balance_nanos)
    expect(figures.spent_nanos).toBeGreaterThan(30_000_000n)
  })

  describe('detects one misplaced nano-dollar', () => {
    const tampered: [string, string, string, string[]][] = [
      [
        'an entry',
        'update ledger_entries set amount_nanos = amount_nanos + 1',
        "account = 'revenue'",
        ['I1'],
      ],
      [
        'a posting',
        'update ledger_entries set amount_nanos = amount_nanos + 1',
        "account = 'credits' and kind = 'charge'",
        ['I1', 'I3', 'I6'],
      ],
      ['a charge', 'update generations set cost_nanos = cost_nanos + 1', 'cost_nanos > 0', ['I3', 'I6']],
      ['a key', 'update meters set total_nanos = total_nanos + 1', "subject like 'key:%'", ['I6']],
      [
        'an organization',
        'update meters set total_nanos = total_nanos + 1',
        "subject like 'organization:%'",
        ['I6'],
      ],
      ['a hold', 'update meters set held_day_nanos = held_day_nanos + 1', "subject like 'key:%'", ['I4']],
    ]

    test.each(tampered)('in %s', async (_, update, condition, invariants) => {
      await sql.raw(`${update} where ${condition}`).execute(db())
      const found = await wrong()
      await sql.raw(`${update.replace('+ 1', '- 1')} where ${condition}`).execute(db())
      expect(found).toEqual(expect.arrayContaining(invariants))
      expect(await wrong()).toEqual([])
    })

    test('I4 a hold that is in no meter, and a charge beyond its hold', async () => {
      const hold = {
        amount_nanos: 5n,
        byok_nanos: 0n,
        day: '2026-01-01',
        expires_at: '2999-01-01',
        draft: '{}',
      }
      await db()
        .insertInto('holds')
        .values({ id: 'gen-lost', owner: 'gone', subjects: 'key:999999', checkpoint: null, ...hold })
        .execute()
      expect(await wrong()).toEqual(['I4'])
      await db().deleteFrom('holds').where('owner', '=', 'gone').execute()
      await sql`update generations set hold_nanos = -hold_nanos where cost_nanos > 0`.execute(db())
      expect(await wrong()).toEqual(['I4'])
      await sql`update generations set hold_nanos = -hold_nanos where cost_nanos > 0`.execute(db())
      expect(await wrong()).toEqual([])
    })

    test('I6 usage that is booked as BYOK usage', async () => {
      const move = (sign: string) =>
        sql.raw(`update meters set total_nanos = total_nanos ${sign} 1, byok_total_nanos = byok_total_nanos ${sign === '-' ? '+' : '-'} 1
          where subject like 'key:%'`)
      await move('-').execute(db())
      expect(await wrong()).toEqual(['I6'])
      await move('+').execute(db())
    })

    test('I2 a request that is settled and still held', async () => {
      await sql`insert into holds (id, owner, subjects, amount_nanos, byok_nanos, day, expires_at, draft)
        select id, 'gone', 'key:' || key_id, 0, 0, '2026-01-01', '2999-01-01', '{}' from generations limit 1`.execute(
        db(),
      )
      expect(await wrong()).toEqual(['I2'])
      await db().deleteFrom('holds').where('owner', '=', 'gone').execute()
    })
  })
})
