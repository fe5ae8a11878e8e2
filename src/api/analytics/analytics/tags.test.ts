import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { blankGeneration } from '../../../../test/support/generations.ts'
import { databaseKinds, startTestServer, type TestServer } from '../../../../test/support/harness.ts'
import { insertGenerations } from '../../../../test/support/records.ts'

const now = '2028-03-15T12:00:00.000Z'

describe.each(databaseKinds)('analytics by tag (%s)', (kind) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer(kind)
    server.clock.freeze(now)
    const { db } = server.gateway
    const key = await db
      .selectFrom('api_keys')
      .selectAll()
      .where('kind', '=', 'inference')
      .executeTakeFirstOrThrow()
    const row = (index: number, tags: string) => ({
      ...blankGeneration,
      id: `gen-${String(index).padStart(8, '0')}`,
      organization_id: key.organization_id,
      workspace_id: key.workspace_id,
      key_id: key.id,
      created_at: '2028-03-14T12:00:00.000Z',
      ended_at: '2028-03-14T12:00:00.000Z',
      tags,
    })
    const frequent = Array.from({ length: 5 }, (_, index) => row(index, 'n=often'))
    const rare = Array.from({ length: 1010 }, (_, index) =>
      row(index + 10, `n=${String(index).padStart(4, '0')}`),
    )
    await insertGenerations(db, [...frequent, ...rare])
  })
  afterAll(async () => {
    server.clock.release()
    await server.stop()
  })

  const query = async (body: object) => {
    const metrics = ['request_count']
    const reply = await server.call('POST', '/analytics/query', { body: { metrics, ...body } })
    return reply
  }

  test('has 1000 values, and one for the others', async () => {
    for (const rolledUp of [false, true]) {
      if (rolledUp) await server.gateway.rollUps.rollUp({ isAll: true })
      const { data } = (await query({ dimensions: ['tag:n'], limit: 10_000 })).body.data
      expect(data).toHaveLength(1001)
      const counts = new Map(data.map((row: Record<string, unknown>) => [row['tag:n'], row.request_count]))
      expect([counts.get('other'), counts.get('often'), counts.get('0998')]).toEqual([11, 5, 1])
      expect(counts.has('0999')).toBe(false)
    }
  })

  test('filters by one that is not among them', async () => {
    const filters = [{ field: 'tag:n', operator: 'eq', value: '1009' }]
    expect((await query({ filters })).body.data.data).toEqual([{ request_count: 1 }])
  })

  test('has only names of tags, for at most 31 days', async () => {
    expect((await query({ dimensions: ['tag:Not a name'] })).status).toBe(400)
    const time_range = { start: '2028-01-01T00:00:00Z', end: '2028-03-15T00:00:00Z' }
    expect((await query({ dimensions: ['tag:n'], time_range })).status).toBe(400)
  })
})
