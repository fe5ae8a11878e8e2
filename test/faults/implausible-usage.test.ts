import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { databaseKinds, startTestServer, type TestServer } from '../support/harness.ts'
import { requestHolds } from '../support/holds.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { withoutLeases } from './reconciliation.ts'

/** Prices that, with this output limit, give every request the same hold. */
const pricing = { prompt: '0.000002', completion: '0.000008', web_search: '0.01' }

const plain = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 }
const text = 'four words of text!!'

/** Usage as vendors have reported it, or might. */
const absurd: Record<string, unknown> = {
  'negative counts': { prompt_tokens: -10, completion_tokens: -4, total_tokens: -14 },
  'one negative count': { ...plain, completion_tokens: -4 },
  'a quintillion tokens': { prompt_tokens: 1e18, completion_tokens: 1e18, total_tokens: 2e18 },
  'as many as a number holds': { ...plain, completion_tokens: Number.MAX_SAFE_INTEGER },
  'forty million tokens': { ...plain, completion_tokens: 40_000_000 },
  'a tenth of a token': { prompt_tokens: 0.1, completion_tokens: 0.1, total_tokens: 0.2 },
  texts: { prompt_tokens: '10', completion_tokens: 'many', total_tokens: '14' },
  lists: { prompt_tokens: [10], completion_tokens: { count: 4 } },
  nulls: { prompt_tokens: null, completion_tokens: null, total_tokens: null },
  'no object': 'fourteen',
  nothing: undefined,
  'more from the cache than there was': { ...plain, prompt_tokens_details: { cached_tokens: 1e9 } },
  'a negative part': { ...plain, prompt_tokens_details: { cached_tokens: -1e9 } },
  'more reasoning than output': { ...plain, completion_tokens_details: { reasoning_tokens: 30_000_000 } },
  'a total of its own': { ...plain, total_tokens: 1e15 },
  'a million searches': { ...plain, server_tool_use: { web_search_requests: 1_000_000 } },
  'a negative cost': { ...plain, cost: -1e9 },
  'an endless cost': { ...plain, cost: 1e300 },
}

/** Usage that is rejected or capped is flagged; missing usage is counted by the gateway. */
const marks: Record<string, { flag?: string; usage_source?: string }> = {
  'negative counts': { usage_source: 'estimated' },
  'as many as a number holds': { flag: 'implausible', usage_source: 'estimated' },
  'forty million tokens': { flag: 'capped', usage_source: 'reported' },
  'a quintillion tokens': { usage_source: 'estimated' },
  'a tenth of a token': { usage_source: 'estimated' },
  'a total of its own': { flag: 'implausible', usage_source: 'estimated' },
  texts: { usage_source: 'estimated' },
  lists: { usage_source: 'estimated' },
  nulls: { usage_source: 'estimated' },
  'no object': { usage_source: 'estimated' },
  nothing: { usage_source: 'estimated' },
  'a million searches': { flag: 'capped' },
}

const identity = { id: 'chatcmpl-1', created: 1, model: 'm' }

function wholeReply(usage: unknown) {
  const message = { role: 'assistant', content: text }
  return { json: { ...identity, choices: [{ index: 0, message, finish_reason: 'stop' }], usage } }
}

function streamedReply(...usages: unknown[]) {
  const chunk = (rest: object) => `data: ${JSON.stringify({ ...identity, ...rest })}\n\n`
  return {
    sse: [
      chunk({ choices: [{ index: 0, delta: { content: text }, finish_reason: null }] }),
      chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
      ...usages.map((usage) => chunk({ choices: [], usage })),
      'data: [DONE]\n\n',
    ],
  }
}

for (const kind of databaseKinds) {
  describe(`a vendor that reports implausible usage (${kind})`, () => {
    let server: TestServer
    let vendor: Upstream

    beforeAll(async () => {
      vendor = await startUpstream()
      const provider = { slug: 'vendor', name: 'Vendor', base_url: vendor.url, dialects: ['chat'] }
      const endpoints = [{ provider: 'vendor', upstream_model: 'm', pricing }]
      const models = [{ id: 'faults/absurd', name: 'Absurd', context_length: 4000, endpoints }]
      server = await startTestServer(kind, { settings: JSON.stringify({ providers: [provider], models }) })
    })
    afterAll(async () => {
      await server.stop()
      await vendor.stop()
    })

    const settle = async (stream: boolean) => {
      const response = await fetch(`${server.url}/api/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${server.own.inferenceKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'faults/absurd',
          stream,
          max_tokens: 100,
          messages: [{ role: 'user', content: 'Hello' }],
        }),
      })
      expect(response.status).toBe(200)
      const text = await response.text()
      const rows = await server.gateway.db
        .selectFrom('generations')
        .selectAll()
        .where('id', '=', response.headers.get('x-generation-id') ?? '')
        .execute()
      expect(rows).toHaveLength(1)
      return { row: rows[0]!, reported: Number(/"cost":\s*([\d.e-]+)/.exec(text)?.[1]) }
    }

    const prove = async (stream: boolean, name: string) => {
      const { row, reported } = await settle(stream)
      expect(row.cost_nanos >= 0n && row.cost_nanos <= row.hold_nanos).toBe(true)
      expect(row).toMatchObject({ status: 'completed', ...marks[name] })
      expect(reported).toBe(Number(row.cost_nanos) / 1e9)
    }

    test.each(Object.keys(absurd))(
      'R6 I4 I5 %s: the charge is within the hold, and equals the cost reported to the client',
      async (name) => {
        vendor.enqueue(wholeReply(absurd[name]), streamedReply(absurd[name]))
        await prove(false, name)
        await prove(true, name)
      },
    )

    test('R6 I3 usage reported twice is charged once, as reported last', async () => {
      vendor.enqueue(streamedReply({ ...plain, completion_tokens: 2 }, plain), streamedReply(plain, plain))
      for (let count = 0; count < 2; count++) {
        const { row } = await settle(true)
        expect(row).toMatchObject({ cost_nanos: 52_000n, tokens_output: 4, flag: null })
      }
    })

    test('I1 I4 the ledger is consistent afterwards', async () => {
      const { db } = server.gateway
      const entries = await db
        .selectFrom('ledger_entries')
        .select(['transaction_id', (eb) => eb.fn.sum<bigint>('amount_nanos').as('sum_nanos')])
        .groupBy('transaction_id')
        .execute()
      expect(entries.filter(({ sum_nanos }) => sum_nanos !== 0n)).toEqual([])
      expect(await requestHolds(db).select('id').execute()).toEqual([])
      const [row] = await db
        .selectFrom('generations')
        .select((eb) => eb.fn.sum<bigint>('cost_nanos').as('sum_nanos'))
        .execute()
      const meter = await db
        .selectFrom('meters')
        .selectAll()
        .where('subject', '=', `organization:${server.own.organization.id}`)
        .executeTakeFirstOrThrow()
      const leases = await db.selectFrom('holds').selectAll().execute()
      const held = withoutLeases([meter], leases)[0]?.held_total_nanos
      expect([meter.total_nanos, held]).toEqual([row?.sum_nanos ?? 0n, 0n])
    })
  })
}
