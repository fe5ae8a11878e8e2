import { describe, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { uuidPattern } from '../../../platform/crypto/ids.ts'

const intervals = ['daily', 'weekly', 'monthly', 'lifetime'] as const
type Interval = (typeof intervals)[number]

describeOnEachDatabase('Workspace budgets', (server) => {
  let made = 0

  const create = async () => {
    const slug = `budgets-${++made}`
    const { body } = await server().call('POST', '/workspaces', { body: { name: slug, slug } })
    return body.data as { id: string; slug: string }
  }

  const put = (ref: string, interval: string, limit_usd: unknown, rest: Record<string, unknown> = {}) =>
    server().call('PUT', `/workspaces/${ref}/budgets/${interval}`, { body: { limit_usd, ...rest } })
  const list = (ref: string, key?: string) =>
    server().call('GET', `/workspaces/${ref}/budgets`, key === undefined ? {} : { key })
  const get = (ref: string, interval: string) =>
    server().call('GET', `/workspaces/${ref}/budgets/${interval}`)
  const remove = (ref: string, interval: string) =>
    server().call('DELETE', `/workspaces/${ref}/budgets/${interval}`)

  const limitsOf = async (ref: string): Promise<Partial<Record<Interval, number>>> => {
    const { body } = await list(ref)
    return Object.fromEntries(
      body.data.map((budget: { reset_interval: Interval; limit_usd: number }) => [
        budget.reset_interval,
        budget.limit_usd,
      ]),
    )
  }

  describe('E4 GET /workspaces/{workspace_ref}/budgets', () => {
    test('E4 empty at first, and BYOK spend does not count', async () => {
      const { id, slug } = await create()
      for (const ref of [id, slug]) {
        expect((await list(ref)).body).toEqual({ data: [], include_byok_in_budgets: false })
      }
    })

    test('E4 daily, weekly, monthly, lifetime, in any order of creation', async () => {
      const { id, slug } = await create()
      for (const [interval, usd] of [
        ['lifetime', 1000],
        ['daily', 1],
        ['monthly', 100],
        ['weekly', 10],
      ] as const) {
        expect((await put(slug, interval, usd)).status).toBe(200)
      }
      for (const ref of [id, slug]) {
        const { body } = await list(ref)
        expect(body.data.map((budget: { reset_interval: string }) => budget.reset_interval)).toEqual([
          ...intervals,
        ])
        for (const budget of body.data) {
          expect(budget.id).toMatch(uuidPattern)
          expect(budget.workspace_id).toBe(id)
        }
      }
    })

    test('E4 404 for an unknown workspace and for one of another organization', async () => {
      for (const ref of ['nothing-here', crypto.randomUUID(), server().foreign.workspace.id, 'NOT-A-SLUG']) {
        expect((await list(ref)).status).toBe(404)
      }
    })

    test('E4 401 without a key, 403 for an inference key', async () => {
      const anonymous = await server().call('GET', '/workspaces/default/budgets', { key: null })
      expect(anonymous.status).toBe(401)
      expect((await list('default', server().own.inferenceKey)).status).toBe(403)
    })
  })

  describe('GET /workspaces/{workspace_ref}/budgets/{interval}', () => {
    test.each(['id', 'slug'] as const)('one budget by %s; 404 when there is none', async (by) => {
      const workspace = await create()
      const { body } = await put(workspace[by], 'lifetime', 5)
      expect(body.data.reset_interval).toBe('lifetime')
      expect((await get(workspace[by], 'lifetime')).body).toEqual(body)
      expect((await get(workspace[by], 'daily')).status).toBe(404)
    })

    test('400 for an unknown interval, before the workspace is looked up', async () => {
      for (const ref of ['default', 'nothing-here']) {
        for (const interval of ['yearly', 'Daily', 'null']) {
          expect((await get(ref, interval)).status).toBe(400)
          expect((await put(ref, interval, 1)).status).toBe(400)
          expect((await remove(ref, interval)).status).toBe(400)
        }
      }
    })
  })

  describe('PUT /workspaces/{workspace_ref}/budgets/{interval}', () => {
    test('creates, then updates the same budget', async () => {
      const { id, slug } = await create()
      server().clock.freeze('2030-05-05T00:00:00.000Z')
      const first = await put(slug, 'weekly', 12.5)
      server().clock.advance(1000)
      const second = await put(id, 'weekly', 13)
      server().clock.release()
      expect(first.body.data.created_at).toBe('2030-05-05T00:00:00.000Z')
      expect(first.body.data.updated_at).toBe(first.body.data.created_at)
      expect(second.body.data).toEqual({
        ...first.body.data,
        limit_usd: 13,
        updated_at: '2030-05-05T00:00:01.000Z',
      })
    })

    test.each([1e-9, 0.1, 0.123456789, 19.99, 999_999.999999999, 1_000_000_000])(
      '%p USD reads back exactly',
      async (usd) => {
        const { slug } = await create()
        expect((await put(slug, 'monthly', usd)).body.data.limit_usd).toBe(usd)
        expect(await limitsOf(slug)).toEqual({ monthly: usd })
      },
    )

    test.each([
      [{}, 'limit_usd'],
      [{ limit_usd: 0 }, 'limit_usd'],
      [{ limit_usd: -1 }, 'limit_usd'],
      [{ limit_usd: null }, 'limit_usd'],
      [{ limit_usd: '5' }, 'limit_usd'],
      [{ limit_usd: 1e-10 }, 'limit_usd'],
      [{ limit_usd: 1_000_000_000.5 }, 'limit_usd'],
      [{ limit_usd: 1, include_byok_in_budgets: 'yes' }, 'include_byok_in_budgets'],
      [{ limit_usd: 1, reset_interval: 'daily' }, 'reset_interval'],
    ])('R12 400 naming the field: %j', async (body, field) => {
      const { slug } = await create()
      const response = await server().call('PUT', `/workspaces/${slug}/budgets/daily`, { body })
      expect(response.status).toBe(400)
      expect(response.body.error.message).toStartWith(`${field}:`)
      expect(await limitsOf(slug)).toEqual({})
    })

    const pairs = intervals.flatMap((narrow, i) =>
      intervals.slice(i + 1).map((broad) => [narrow, broad] as const),
    )

    test.each(pairs)('%s must stay below %s, strictly, from either side', async (narrow, broad) => {
      const { slug } = await create()
      await put(slug, broad, 10)
      for (const usd of [10, 10.000000001, 11]) {
        const rejected = await put(slug, narrow, usd)
        expect(rejected.status).toBe(400)
        expect(rejected.body.error.message).toStartWith('limit_usd:')
        expect(rejected.body.error.message).toContain(broad)
      }
      expect((await put(slug, narrow, 9.999999999)).status).toBe(200)
      for (const usd of [9.999999999, 9, 1]) {
        const rejected = await put(slug, broad, usd)
        expect(rejected.status).toBe(400)
        expect(rejected.body.error.message).toContain(narrow)
      }
      expect(await limitsOf(slug)).toEqual({ [narrow]: 9.999999999, [broad]: 10 })
    })

    test('a budget may change past its own old value', async () => {
      const { slug } = await create()
      for (const usd of [5, 50, 0.5]) expect((await put(slug, 'weekly', usd)).status).toBe(200)
    })

    test('include_byok_in_budgets is one setting of the workspace, unchanged when not sent', async () => {
      const { id, slug } = await create()
      const flagOf = async () => [
        (await list(slug)).body.include_byok_in_budgets,
        (await server().call('GET', `/workspaces/${id}`)).body.data.include_byok_in_budgets,
      ]
      const set = await put(slug, 'daily', 1, { include_byok_in_budgets: true })
      expect(set.body.include_byok_in_budgets).toBe(true)
      const other = await put(slug, 'weekly', 2)
      expect(other.body.include_byok_in_budgets).toBe(true)
      expect(await flagOf()).toEqual([true, true])
      const rejected = await put(slug, 'weekly', 1, { include_byok_in_budgets: false })
      expect(rejected.status).toBe(400)
      expect(await flagOf()).toEqual([true, true])
      await put(slug, 'weekly', 2, { include_byok_in_budgets: false })
      expect(await flagOf()).toEqual([false, false])
    })

    test('404 for an unknown workspace and for one of another organization', async () => {
      for (const ref of ['nothing-here', server().foreign.workspace.id]) {
        expect((await put(ref, 'daily', 1)).status).toBe(404)
        expect((await get(ref, 'daily')).status).toBe(404)
      }
    })

    test('R22 of two that together break the order, one loses', async () => {
      for (let round = 0; round < 20; round++) {
        const { slug } = await create()
        const responses = await Promise.all([put(slug, 'daily', 10), put(slug, 'monthly', 5)])
        expect(responses.map((response) => response.status).sort()).toEqual([200, 400])
      }
    })

    test('R22 after 50 at the same moment, the budgets are in order', async () => {
      const { slug } = await create()
      const responses = await Promise.all(
        Array.from({ length: 50 }, (_, i) => put(slug, intervals[i % 4] ?? 'daily', ((i * 7) % 13) + 1)),
      )
      for (const response of responses) expect([200, 400]).toContain(response.status)
      const limits = await limitsOf(slug)
      const inOrder = intervals.flatMap((interval) => limits[interval] ?? [])
      expect(inOrder).toEqual([...new Set(inOrder)].sort((a, b) => a - b))
    })
  })

  describe('E5 DELETE /workspaces/{workspace_ref}/budgets/{interval}', () => {
    test.each(intervals)('E5 %s is absent afterwards, whether or not it existed', async (interval) => {
      const { id, slug } = await create()
      await put(slug, interval, 5)
      for (const ref of [slug, id, slug]) {
        const response = await remove(ref, interval)
        expect(response.status).toBe(200)
        expect(response.body).toEqual({ deleted: true })
        expect((await get(ref, interval)).status).toBe(404)
      }
    })

    test('E5 only the one named, and others no longer collide with it', async () => {
      const { slug } = await create()
      await put(slug, 'daily', 1)
      await put(slug, 'weekly', 2)
      await put(slug, 'monthly', 3)
      await remove(slug, 'weekly')
      expect(await limitsOf(slug)).toEqual({ daily: 1, monthly: 3 })
      expect((await put(slug, 'daily', 2.5)).status).toBe(200)
    })

    test('E5 404 for an unknown workspace and for one of another organization', async () => {
      for (const ref of ['nothing-here', crypto.randomUUID(), server().foreign.workspace.id]) {
        expect((await remove(ref, 'daily')).status).toBe(404)
      }
    })

    test('E5 401 without a key, 403 for an inference key', async () => {
      const path = '/workspaces/default/budgets/daily'
      expect((await server().call('DELETE', path, { key: null })).status).toBe(401)
      expect((await server().call('DELETE', path, { key: server().own.inferenceKey })).status).toBe(403)
    })

    test('E5 R22 30 at the same moment all succeed', async () => {
      const { slug } = await create()
      await put(slug, 'daily', 1)
      const responses = await Promise.all(Array.from({ length: 30 }, () => remove(slug, 'daily')))
      for (const response of responses) expect(response.body).toEqual({ deleted: true })
    })
  })
})
