import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type HoldRequest, LedgerState } from '../../src/ledger/ledger-state.ts'
import { newMeter, type Window } from '../../src/ledger/meter.ts'
import { utcDay } from '../../src/platform/time/time.ts'
import { databaseKinds, startTestServer, type TestServer } from '../support/harness.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

/** The last millisecond of a window, and which windows end with it. */
const edges: [last: string, ending: Window[]][] = [
  ['2027-03-10T23:59:59.999Z', ['day']],
  ['2027-03-14T23:59:59.999Z', ['day', 'week']],
  ['2027-02-28T23:59:59.999Z', ['day', 'week', 'month']],
  // A leap year: the 28th is not the last day of February, the 29th is.
  ['2028-02-28T23:59:59.999Z', ['day']],
  ['2028-02-29T23:59:59.999Z', ['day', 'month']],
  // A century that is no leap year.
  ['2100-02-28T23:59:59.999Z', ['day', 'week', 'month']],
  // Years that end on a Friday, on a Sunday, and in the middle of a week.
  ['2027-12-31T23:59:59.999Z', ['day', 'month']],
  ['2028-12-31T23:59:59.999Z', ['day', 'week', 'month']],
  ['2030-12-31T23:59:59.999Z', ['day', 'month']],
  // Daylight saving time changes in some zones, not in UTC.
  ['2027-03-28T00:59:59.999Z', []],
  ['2027-10-31T00:59:59.999Z', []],
  ['2027-10-31T23:59:59.999Z', ['day', 'week', 'month']],
]

const windows = ['day', 'week', 'month'] as const

function holdRequestAt(id: string, at: number, window: Window): HoldRequest {
  const limit = { kind: 'key', subject: 'key', window, includeByok: false, amount: 10n } as const
  return { id, subjects: ['key'], day: utcDay(at), limits: [limit], free: null, amount: 10n, byok: 0n }
}

function newState(): LedgerState {
  const state = new LedgerState()
  state.meters.set('key', newMeter('key'))
  return state
}

describe.each(edges)('R13 at %s', (last, ending) => {
  const before = Date.parse(last)
  const after = before + 1

  test.each([...windows])('a limit for a %s begins again exactly when it ends', (window) => {
    const state = newState()
    expect(state.admit(holdRequestAt('first', before - 1, window))).toBeNull()
    state.settle('first', { amount: 10n, byok: 0n })
    expect(state.admit(holdRequestAt('second', before, window))).not.toBeNull()
    const rejection = state.admit(holdRequestAt('third', after, window))
    expect(rejection === null).toBe(ending.includes(window))
  })

  test.each([...windows])('what was held before the end of a %s is settled before it', (window) => {
    const state = newState()
    expect(state.admit(holdRequestAt('old', before, window))).toBeNull()
    const isNew = ending.includes(window)
    expect(state.admit(holdRequestAt('new', after, window)) === null).toBe(isNew)
    state.settle('old', { amount: 10n, byok: 0n })
    const meter = state.meters.get('key')!
    expect([meter.spent[window], meter.held[window]]).toEqual(isNew ? [0n, 10n] : [10n, 0n])
    expect(meter.spent.total).toBe(10n)
  })

  test.each([...windows])(
    'two nodes whose clocks are 2 s apart do not exceed the limit of a %s',
    (window) => {
      const state = newState()
      const isNew = ending.includes(window)
      expect(state.admit(holdRequestAt('ahead', after + 1000, window))).toBeNull()
      expect(state.admit(holdRequestAt('behind', before - 1000, window)) === null).toBe(isNew)
      for (const [id, at] of [
        ['ahead again', after + 1001],
        ['behind again', before - 999],
      ] as const) {
        expect(state.admit(holdRequestAt(id, at, window))).not.toBeNull()
      }
    },
  )
})

const interval = { day: 'daily', week: 'weekly', month: 'monthly' } as const

for (const kind of databaseKinds) {
  describe(`R13 windows through the API (${kind})`, () => {
    let server: TestServer
    let vendor: Upstream

    beforeAll(async () => {
      vendor = await startUpstream()
      const provider = { slug: 'vendor', name: 'Vendor', base_url: vendor.url, dialects: ['chat'] }
      const pricing = { prompt: '0', completion: '0', request: '0.01' }
      const endpoints = [{ provider: 'vendor', upstream_model: 'm', pricing }]
      const models = [{ id: 'faults/fixed', name: 'Fixed', endpoints }]
      server = await startTestServer(kind, { settings: JSON.stringify({ providers: [provider], models }) })
    })
    afterAll(async () => {
      await server.stop()
      await vendor.stop()
    })

    const send = (key: string) =>
      server.call('POST', '/chat/completions', {
        key,
        body: { model: 'faults/fixed', messages: [{ role: 'user', content: 'Hello' }] },
      })
    const newKey = async (window: 'day' | 'week' | 'month', limit: number) => {
      const body = { name: 'window', limit, limit_reset: interval[window] }
      return (await server.call('POST', '/keys', { body })).body.key as string
    }
    const usageOf = async (key: string) => (await server.call('GET', '/key', { key })).body.data

    test.each(edges)('%s', async (last, ending) => {
      server.clock.freeze(new Date(Date.parse(last) - 1).toISOString())
      const keys = await Promise.all(windows.map((window) => newKey(window, 0.02)))
      for (const key of keys) expect((await send(key)).status).toBe(200)
      server.clock.freeze(last)
      for (const key of keys) {
        expect((await send(key)).status).toBe(200)
        expect((await send(key)).status).toBe(402)
      }
      server.clock.advance(1)
      for (const [index, window] of windows.entries()) {
        const key = keys[index] ?? ''
        const field = `usage_${interval[window]}`
        const isNew = ending.includes(window)
        expect((await usageOf(key))[field]).toBe(isNew ? 0 : 0.02)
        expect((await send(key)).status).toBe(isNew ? 200 : 402)
        expect(await usageOf(key)).toMatchObject({ usage: isNew ? 0.03 : 0.02, [field]: isNew ? 0.01 : 0.02 })
      }
      server.clock.release()
    })

    test('a request belongs to the day it began on, however late it ends', async () => {
      server.clock.freeze('2104-02-29T23:59:59.999Z')
      const key = await newKey('day', 0.01)
      vendor.enqueue(() => {
        server.clock.freeze('2104-03-01T00:00:01.000Z')
        return {
          json: {
            id: 'x',
            choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
            usage: { prompt_tokens: 1, completion_tokens: 1 },
          },
        }
      })
      const response = await send(key)
      expect(response.status).toBe(200)
      expect(await usageOf(key)).toMatchObject({ usage: 0.01, usage_daily: 0, usage_monthly: 0 })
      const row = await server.gateway.db
        .selectFrom('generations')
        .select(['created_at', 'ended_at'])
        .where('id', '=', response.headers.get('x-generation-id') ?? '')
        .executeTakeFirstOrThrow()
      expect(row).toEqual({ created_at: '2104-02-29T23:59:59.999Z', ended_at: '2104-03-01T00:00:01.000Z' })
      expect((await send(key)).status).toBe(200)
      server.clock.release()
    })
  })
}
