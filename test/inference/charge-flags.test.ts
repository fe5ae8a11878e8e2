import { expect, test } from 'bun:test'
import { reportOrphans } from '../../src/jobs.ts'
import { checkLedger } from '../../src/ledger/check.ts'
import type { Settlement } from '../../src/ledger/engine.ts'
import { ClusterNode } from '../../src/ledger/recovery.ts'
import type { ChargeFlag } from '../../src/platform/db/generation-table.ts'
import type { TestServer } from '../support/harness.ts'
import { createOrphanedHold } from '../support/orphaned-holds.ts'
import type { UpstreamResponse } from '../support/upstream.ts'
import { type Bench, describeWithUpstreams, sendRequest } from './two-upstreams.ts'

const text = 'four words of text!!'

function reply(usage: unknown): UpstreamResponse {
  const choices = [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }]
  return { json: { id: 'chatcmpl-1', created: 1, model: 'm', choices, usage } }
}

/** 50 USD at the price of the model. */
const beyondTheHold = 12_500_000

const replies: Record<Exclude<ChargeFlag, 'interrupted' | 'unrecovered'> | 'none', UpstreamResponse> = {
  none: reply({ prompt_tokens: 10, completion_tokens: 4 }),
  capped: reply({ prompt_tokens: 10, completion_tokens: beyondTheHold }),
  implausible: reply({ prompt_tokens: 10, completion_tokens: Number.MAX_SAFE_INTEGER }),
  uncounted: reply(undefined),
}

describeWithUpstreams('every kind of charge', (bench) => {
  const flags = [...Object.keys(replies), 'interrupted', 'interrupted beyond its hold']
  const cases = flags.flatMap((flag) => [[flag, false] as const, [flag, true] as const])

  test.each(cases)('I4 I6 %s (BYOK: %p): one number in record, usage and ledger', async (flag, isByok) => {
    const { server } = bench()
    const own = isByok ? await bringKey(bench()) : null
    try {
      const before = await usageOf(bench())
      const id = flag.startsWith('interrupted')
        ? await interrupt(bench(), isByok, flag === 'interrupted' ? 4 : beyondTheHold)
        : await complete(bench(), replies[flag as keyof typeof replies])
      const { body } = await server.call('GET', `/generation?id=${id}`)
      const after = await usageOf(bench())
      const charged = { usage: body.data.usage, byok_usage: body.data.upstream_inference_cost ?? 0 }
      expect(body.data.headgate.flag).toBe(flag === 'none' ? null : flag.split(' ')[0])
      expect(body.data.is_byok).toBe(isByok)
      expect(after.usage - before.usage).toBeCloseTo(charged.usage, 9)
      expect(after.byok_usage - before.byok_usage).toBeCloseTo(charged.byok_usage, 9)
      expect(charged[isByok ? 'byok_usage' : 'usage']).toBeGreaterThan(0)
      const { findings } = await checkLedger(server.gateway.db)
      expect(findings.flatMap(({ violations }) => violations)).toEqual([])
    } finally {
      if (own !== null) await server.call('DELETE', `/byok/${own}`)
    }
  })

  const unpriced = { place: { pricing: { prompt: 'a dollar' } }, reply: { characters: 8 } }
  test.each([
    ['unrecovered_draft', { draft: '{"generation":{}}' }, ''],
    ['unrecovered_checkpoint', { checkpoint: '{"place":' }, 'test/chat'],
    ['unrecovered_price', { checkpoint: JSON.stringify(unpriced) }, 'test/chat'],
  ])(
    'R2 I2 I4 %s: the request has a record with its reason and what was held',
    async (reason, broken, model) => {
      const { server } = bench()
      const { db } = server.gateway
      const [before, figures] = [await usageOf(bench()), (await checkLedger(db)).figures]
      const { id } = await createOrphanedHold(server, 4)
      await db.updateTable('holds').set(broken).where('id', '=', id).execute()
      const outcome = await settleOrphans(server)
      expect(outcome).toMatchObject({
        settled: 0,
        unrecovered: [{ id, failure: reason, held: 1_000_000n }],
      })
      reportOrphans(server.gateway, outcome)
      const { body } = await server.call('GET', `/generation?id=${id}`)
      expect(body.data).toMatchObject({ model, total_cost: 0 })
      expect(body.data.headgate).toMatchObject({ error_code: reason, flag: 'unrecovered', hold: 0.001 })
      const listed = await server.call('GET', `/generations?flag=unrecovered&error_code=${reason}`)
      expect(listed.body.data).toMatchObject([{ id, cost: 0, error_code: reason }])
      expect(await usageOf(bench())).toEqual(before)
      const checked = await checkLedger(db)
      expect(checked.findings.flatMap(({ violations }) => violations)).toEqual([])
      expect(checked.figures).toMatchObject({
        holds: 0,
        unrecovered: figures.unrecovered + 1,
        unrecovered_nanos: figures.unrecovered_nanos + 1_000_000n,
      })
      const { body: metrics } = await server.gateway.metrics.render()
      const counted = `headgate_interrupted_requests_total{outcome="unrecovered"} ${checked.figures.unrecovered}\n`
      expect(metrics).toContain(counted)
    },
  )

  test.each([false, true])(
    'I5 the parts of a capped charge are no more than the whole (BYOK: %p)',
    async (isByok) => {
      const { server, first } = bench()
      const own = isByok ? await bringKey(bench()) : null
      try {
        first.enqueue(replies.capped)
        const body = (await (
          await sendRequest(bench(), 'chat', { model: 'test/chat', max_tokens: 10 })
        ).json()) as {
          usage: { cost_details: Record<string, number> }
        }
        const details = body.usage.cost_details
        const parts =
          (details.upstream_inference_prompt_cost ?? 0) + (details.upstream_inference_completions_cost ?? 0)
        expect(parts).toBeGreaterThan(0)
        expect(parts).toBeLessThanOrEqual((details.upstream_inference_cost ?? 0) + 1e-12)
      } finally {
        if (own !== null) await server.call('DELETE', `/byok/${own}`)
      }
    },
  )
})

async function bringKey({ server }: Bench): Promise<string> {
  const body = { provider: 'one-chat', key: 'own-credential-0123456789', is_byok_only: true }
  return (await server.call('POST', '/byok', { body })).body.data.id
}

async function usageOf({ server }: Bench): Promise<{ usage: number; byok_usage: number }> {
  const { body } = await server.call('GET', '/key', { key: server.own.inferenceKey })
  return body.data
}

async function complete(bench: Bench, scripted: UpstreamResponse): Promise<string> {
  bench.first.enqueue(scripted)
  const response = await sendRequest(bench, 'chat', { model: 'test/chat', max_tokens: 10 })
  await response.text()
  return response.headers.get('x-generation-id') ?? ''
}

/** A request of a dead process, charged for its checkpoint. */
async function interrupt({ server }: Bench, isByok: boolean, tokens: number): Promise<string> {
  const { id } = await createOrphanedHold(
    server,
    tokens,
    isByok ? { isByok, amount: 50_000n, byok: 1_000_000n } : {},
  )
  expect(await settleOrphans(server)).toMatchObject({ settled: 1, unrecovered: [] })
  return id
}

function settleOrphans({ gateway }: TestServer) {
  // They are not in flight in this process.
  const ledger = { isOpen: () => false, settle: (op: Settlement) => gateway.ledger.settle(op) }
  return new ClusterNode(true).settleOrphans(gateway.db, ledger, new Date().toISOString())
}
