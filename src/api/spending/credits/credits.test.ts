import { describe, expect, test } from 'bun:test'
import { createTenant, describeOnEachDatabase, type TestServer } from '../../../../test/support/harness.ts'
import { recordSpend } from '../../../../test/support/spend.ts'

const path = '/credits/grants'

describeOnEachDatabase('Credits', (server) => {
  const grant = (body: Record<string, unknown>, key?: string) =>
    server().call('POST', path, { body, ...(key !== undefined && { key }) })
  const tenant = () => createTenant(server().gateway, 'Tenant')
  const creditsOf = async (key: string) => (await server().call('GET', '/credits', { key })).body.data

  describe('GET /credits', () => {
    test('I6 total credits and usage of the own organization only', async () => {
      const own = await tenant()
      const organization_id = own.organization.id
      expect(await creditsOf(own.managementKey)).toEqual({ total_credits: 0, total_usage: 0 })
      await grant({ organization_id, amount: 20, kind: 'purchase' })
      await grant({ organization_id, amount: 0.3 })
      await grant({ organization_id, amount: -0.1, kind: 'adjustment' })
      await spendUsd(server(), organization_id, 1.250000001)
      expect(await creditsOf(own.managementKey)).toEqual({ total_credits: 20.2, total_usage: 1.250000001 })
      expect((await creditsOf((await tenant()).managementKey)).total_credits).toBe(0)
    })

    test('403 for an inference key, 401 for none', async () => {
      expect((await server().call('GET', '/credits', { key: server().own.inferenceKey })).status).toBe(403)
      expect((await server().call('GET', '/credits', { key: null })).status).toBe(401)
    })
  })

  describe('POST /credits/grants', () => {
    test('a grant to the own organization by default', async () => {
      const before = await creditsOf(server().own.managementKey)
      const { status, body } = await grant({ amount: 1.5, note: 'Welcome' })
      expect(status).toBe(201)
      expect(body.data).toEqual({
        transaction_id: expect.stringMatching(/^txn_/),
        organization_id: server().own.organization.id,
        amount: 1.5,
        kind: 'grant',
        note: 'Welcome',
        created_at: expect.any(String),
        total_credits: before.total_credits + 1.5,
      })
    })

    test('only a purchase ends the free tier', async () => {
      const own = await tenant()
      const isFree = async () =>
        (await server().call('GET', '/key', { key: own.managementKey })).body.data.is_free_tier
      const organization_id = own.organization.id
      await grant({ organization_id, amount: 5 })
      await grant({ organization_id, amount: 5, kind: 'adjustment' })
      expect(await isFree()).toBe(true)
      await grant({ organization_id, amount: 0.000000001, kind: 'purchase' })
      expect(await isFree()).toBe(false)
    })

    test.each([
      [{}, 'amount'],
      [{ amount: 0 }, 'amount'],
      [{ amount: -0 }, 'amount'],
      [{ amount: 0, kind: 'adjustment' }, 'amount'],
      [{ amount: -1 }, 'amount'],
      [{ amount: -1, kind: 'purchase' }, 'amount'],
      [{ amount: '5' }, 'amount'],
      [{ amount: 1e-10 }, 'amount'],
      [{ amount: -1e-10, kind: 'adjustment' }, 'amount'],
      [{ amount: 1_000_000_000.5 }, 'amount'],
      [{ amount: -1_000_000_000.5, kind: 'adjustment' }, 'amount'],
      [{ amount: 1, kind: 'gift' }, 'kind'],
      [{ amount: 1, kind: null }, 'kind'],
      [{ amount: 1, note: 'n'.repeat(501) }, 'note'],
      [{ amount: 1, idempotency_key: '' }, 'idempotency_key'],
      [{ amount: 1, idempotency_key: 'k'.repeat(256) }, 'idempotency_key'],
      [{ amount: 1, currency: 'EUR' }, 'currency'],
      [{ amount: 1, transaction_id: 'txn_1' }, 'transaction_id'],
    ])('R12 400 naming the field: %j', async (body, field) => {
      const before = await creditsOf(server().own.managementKey)
      const response = await grant(body)
      expect(response.status).toBe(400)
      expect(response.body.error.message).toStartWith(`${field}:`)
      expect(await creditsOf(server().own.managementKey)).toEqual(before)
    })

    test('404 for an unknown organization', async () => {
      const response = await grant({ amount: 1, organization_id: 'org_nobody' })
      expect(response.status).toBe(404)
      expect(response.body.error.message).toStartWith('organization_id:')
    })

    test('403 for an organization that does not run the installation, even for itself', async () => {
      const { managementKey, inferenceKey, organization } = server().foreign
      const body = { amount: 1, organization_id: organization.id }
      expect((await grant(body, managementKey)).status).toBe(403)
      expect((await grant({ amount: 1 }, managementKey)).status).toBe(403)
      expect((await grant({ amount: 1 }, inferenceKey)).status).toBe(403)
      expect((await creditsOf(managementKey)).total_credits).toBe(0)
    })

    test('the sum of a kind stays readable: it ends at a billion, in both directions', async () => {
      const own = await tenant()
      const organization_id = own.organization.id
      const most = 1_000_000_000
      const key = { idempotency_key: `most-${organization_id}` }
      const first = await grant({ organization_id, amount: most, kind: 'purchase', ...key })
      expect(first.status).toBe(201)
      expect((await grant({ organization_id, amount: 1e-9, kind: 'purchase' })).status).toBe(400)
      expect((await grant({ organization_id, amount: -most, kind: 'adjustment' })).status).toBe(201)
      expect((await grant({ organization_id, amount: -1e-9, kind: 'adjustment' })).status).toBe(400)
      expect((await grant({ organization_id, amount: most })).status).toBe(201)
      expect((await creditsOf(own.managementKey)).total_credits).toBe(most)
      const again = await grant({ organization_id, amount: most, kind: 'purchase', ...key })
      expect(again.body).toEqual(first.body)
    })

    test('I3 repeating an idempotency key adds nothing and returns the same, even after other grants', async () => {
      const own = await tenant()
      const body = {
        amount: 7,
        note: 'once',
        organization_id: own.organization.id,
        idempotency_key: `invoice 1 ${own.organization.id}`,
      }
      const first = await grant(body)
      await grant({ amount: 1, organization_id: own.organization.id })
      const again = await grant(body)
      expect(again.status).toBe(201)
      expect(again.body).toEqual(first.body)
      expect((await creditsOf(own.managementKey)).total_credits).toBe(8)
    })

    test('I3 of 40 with one idempotency key at the same moment, one counts', async () => {
      const own = await tenant()
      const organization_id = own.organization.id
      const body = { amount: 2, organization_id, idempotency_key: `storm ${organization_id}` }
      const responses = await Promise.all(Array.from({ length: 40 }, () => grant(body)))
      for (const response of responses) expect(response.body).toEqual(responses[0]!.body)
      expect((await creditsOf(own.managementKey)).total_credits).toBe(2)
    })

    test('I3 409 when the key was used for another grant, one after another or at the same moment', async () => {
      const [one, two] = [await tenant(), await tenant()]
      const idempotency_key = `mixed ${one.organization.id}`
      const responses = await Promise.all(
        [one, two].map(({ organization }) =>
          grant({ amount: 3, organization_id: organization.id, idempotency_key }),
        ),
      )
      expect(responses.map((response) => response.status).sort()).toEqual([201, 409])
      const winner = responses[0]?.status === 201 ? one : two
      const organization_id = winner.organization.id
      for (const change of [{ amount: 4 }, { kind: 'purchase' }]) {
        const response = await grant({ amount: 3, organization_id, idempotency_key, ...change })
        expect(response.status).toBe(409)
      }
      expect((await creditsOf(winner.managementKey)).total_credits).toBe(3)
    })

    test('I1 R22 after concurrent grants, entries sum to zero and every response has its own running total', async () => {
      const own = await tenant()
      const organization_id = own.organization.id
      const responses = await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          grant({ organization_id, amount: i % 5 ? 0.01 : -0.01, kind: 'adjustment' }),
        ),
      )
      expect(responses.map((response) => response.status)).toEqual(Array(50).fill(201))
      expect((await creditsOf(own.managementKey)).total_credits).toBe(0.3)
      const rows = await server()
        .gateway.db.selectFrom('ledger_entries')
        .selectAll()
        .where('kind', '!=', 'charge')
        .execute()
      for (const [, entries] of Map.groupBy(rows, (row) => row.transaction_id)) {
        expect(entries.map((entry) => entry.account).sort()).toEqual(['credits', 'funding'])
        expect(new Set(entries.map((entry) => entry.organization_id)).size).toBe(1)
        expect(entries.reduce((sum, entry) => sum + entry.amount_nanos, 0n)).toBe(0n)
      }
      const steps = rows
        .filter((row) => row.organization_id === organization_id && row.account === 'credits')
        .sort((a, b) => a.id - b.id)
      let sum = 0n
      for (const step of steps) {
        sum += step.amount_nanos
        const response = responses.find(({ body }) => body.data.transaction_id === step.transaction_id)
        expect(response?.body.data.total_credits).toBe(Number(sum) / 1e9)
      }
    })
  })
})

async function spendUsd(server: TestServer, organizationId: string, credits: number): Promise<void> {
  const key = await server.gateway.db
    .selectFrom('api_keys')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('kind', '=', 'inference')
    .executeTakeFirstOrThrow()
  await recordSpend(server.gateway, key, '2028-03-01', { credits })
}
