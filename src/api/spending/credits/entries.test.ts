import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'

describeOnEachDatabase('GET /credits/entries', (server) => {
  const list = async (query = '') => (await server().call('GET', `/credits/entries?${query}`)).body
  const grant = (amount: number, kind: string) =>
    server().call('POST', '/credits/grants', { body: { amount, kind, note: `${kind} of ${amount}` } })

  test('lists grants and charges, newest first, by type, time and page', async () => {
    server().clock.freeze('2031-01-01T00:00:00.000Z')
    await grant(10, 'grant')
    server().clock.advance(1000)
    await grant(20, 'purchase')
    server().clock.advance(1000)
    await grant(-5, 'adjustment')
    server().clock.release()
    const { organization } = server().own
    const charge = {
      transaction_id: 'txn_charge',
      organization_id: organization.id,
      kind: 'charge',
      note: null,
    }
    const created_at = '2031-01-01T00:00:03.000Z'
    await server()
      .gateway.db.insertInto('ledger_entries')
      .values([
        { ...charge, account: 'credits', amount_nanos: -2_000_000_000n, created_at },
        { ...charge, account: 'revenue', amount_nanos: 2_000_000_000n, created_at },
      ])
      .execute()
    const since = 'from=2031-01-01T00:00:00Z'
    const all = await list(since)
    expect(all.data.map(({ type, amount }: { type: string; amount: number }) => [type, amount])).toEqual([
      ['charge', -2],
      ['adjustment', -5],
      ['purchase', 20],
      ['grant', 10],
    ])
    expect(all.cursor).toBeNull()
    expect(all.data[2]).toMatchObject({ note: 'purchase of 20', entry_count: null, last_entry_at: null })
    const first = await list(`${since}&limit=3`)
    const rest = await list(`${since}&limit=3&cursor=${encodeURIComponent(first.cursor)}`)
    expect([...first.data, ...rest.data]).toEqual(all.data)
    expect((await list(`${since}&type=charge`)).data).toEqual([all.data[0]])
    expect((await list(`${since}&type=purchase`)).data).toEqual([all.data[2]])
    expect((await list(`${since}&to=2031-01-01T00:00:01Z`)).data).toEqual([all.data[3]])
    const { foreign } = server()
    const theirs = await server().call('GET', `/credits/entries?${since}`, { key: foreign.managementKey })
    expect(theirs.body.data).toEqual([])
  })

  test.each(['type=revenue', 'cursor=x', 'from=2031-01-02T00:00:00Z&to=2031-01-01T00:00:00Z', 'limit=0'])(
    '400 for %s',
    async (query) => {
      expect((await server().call('GET', `/credits/entries?${query}`)).status).toBe(400)
    },
  )
})

describeOnEachDatabase('POST /ledger/check', (server) => {
  test('I1 finds a transaction that does not sum to zero, as the command does', async () => {
    const sound = await server().call('POST', '/ledger/check')
    expect(sound.status).toBe(200)
    expect(sound.body.data).toMatchObject({ sound: true, figures: { credits_usd: expect.any(Number) } })
    await server()
      .gateway.db.insertInto('ledger_entries')
      .values({
        transaction_id: 'txn_wrong',
        organization_id: server().own.organization.id,
        account: 'credits',
        amount_nanos: 7n,
        kind: 'grant',
        note: null,
        created_at: '2031-01-01T00:00:00.000Z',
      })
      .execute()
    const { data } = (await server().call('POST', '/ledger/check')).body
    expect(data.sound).toBe(false)
    const violations = data.findings.flatMap((finding: { violations: string[] }) => finding.violations)
    expect(violations).toEqual(['txn_wrong: 7 is not 0'])
  })
})
