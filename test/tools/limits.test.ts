import { afterAll, describe, expect, test } from 'bun:test'
import { nanosFromUsd } from '../../src/platform/money/money.ts'
import { setKeyGuardrail } from '../guardrails/support.ts'
import { describeOnEachDatabase, type TestResponse, type TestServer } from '../support/harness.ts'
import { requestHolds } from '../support/holds.ts'
import { buildPdf } from '../support/pdf.ts'
import { modelSettings } from './support.ts'

const results = [{ url: 'https://tides.test/today', title: 'Tides today', text: 'High water at 14:05.' }]

/** A search engine, and an API for OCR. */
const site = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: (request) =>
    new URL(request.url).pathname === '/search'
      ? Response.json({ results })
      : Response.json({
          pages: [{ index: 0, markdown: '42 apples', images: [], dimensions: null }],
          model: 'ocr',
          usage_info: { pages_processed: 1, doc_size_bytes: 100 },
        }),
})
const origin = `http://127.0.0.1:${site.port}`
afterAll(() => site.stop(true))

const settings = `
egress: { allow_private: ["127.0.0.1:${site.port}"] }
limits: { requests_per_minute: 100000 }
web: { engine: exa, engines: { exa: { api_key: engine-secret-0123456789, base_url: "${origin}" } } }
file_parser: { ocr: { api_key: ocr-secret-0123456789, base_url: "${origin}/" } }
moderation: { model: test/moderator }
fusion: { general-fast: { analysis_models: [test/inner, test/outer], model: test/outer } }
routers: { switchyard: { weak: [test/outer], strong: [test/outer], judge: test/inner } }
${modelSettings}
  - id: test/moderator
    name: Moderator
    endpoints:
      - { provider: sandbox, upstream_model: moderator, dialects: [moderations], pricing: { prompt: "0", completion: "0", request: "0.0005" } }
`

const scan = `data:application/pdf;base64,${buildPdf(['']).toString('base64')}`
const ask = (text: string, more: object = {}) => ({ messages: [{ role: 'user', content: text }], ...more })
const useTool = (text: string, type: string, parameters: object = {}) =>
  ask(text, { tools: [{ type: `service:${type}`, parameters }] })

/** Requests that pay for more than one reply. */
const kinds: Record<string, object> = {
  'the plugin web': ask('Hello', { plugins: [{ id: 'web' }] }),
  'a model with the suffix online': ask('Hello', { model: 'test/outer:online' }),
  'the tool web_search': useTool('Use web_search now', 'web_search'),
  'several turns': useTool('Use datetime sandbox:rounds=3', 'datetime'),
  fusion: ask('Hello', { model: 'service/fusion-flash' }),
  advisor: useTool('Ask the advisor now', 'advisor', { model: 'test/inner', max_completion_tokens: 50 }),
  subagent: useTool('Let subagent work', 'subagent', { model: 'test/inner', max_completion_tokens: 50 }),
  image_generation: useTool('image_generation of a tree', 'image_generation', {
    model: 'sandbox/painter',
    size: '1024x1024',
  }),
  'the plugin moderation': ask('Hello', { plugins: [{ id: 'moderation' }] }),
  'a router model with a judge': ask('Hello', { model: 'service/switchyard' }),
  'the plugin file-parser': {
    plugins: [{ id: 'file-parser', pdf: { engine: 'mistral-ocr' } }],
    messages: [{ role: 'user', content: [{ type: 'file', file: { filename: 'a.pdf', file_data: scan } }] }],
  },
}

/** Requests that the limit of a key pays for, of those that are sent. */
const affordable = 4
const sent = 12

function send(server: TestServer, key: string, body: object) {
  const call = { model: 'test/outer', max_tokens: 50, ...body }
  return server.call('POST', '/chat/completions', { key, body: call })
}

async function createKey(server: TestServer, limit: bigint | null): Promise<{ key: string; hash: string }> {
  const body = { name: 'limited', ...(limit !== null && { limit: Number(limit) / 1e9 }) }
  const { body: made } = await server.call('POST', '/keys', { body })
  return { key: made.key, hash: made.data.hash }
}

async function spentBy(server: TestServer, hash: string): Promise<bigint> {
  const { body } = await server.call('GET', `/keys/${hash}`)
  return nanosFromUsd(body.data.usage) ?? 0n
}

/** Sums the costs of the replies. */
function sumCosts(replies: readonly TestResponse[]): bigint {
  const costs = replies.flatMap(({ status, body }) => (status === 200 ? [body.usage.cost as number] : []))
  return costs.reduce((sum, cost) => sum + (nanosFromUsd(cost) ?? 0n), 0n)
}

/** Measures the cost of one request, and a limit that lets one pass. */
async function measure(server: TestServer, body: object): Promise<{ cost: bigint; limit: bigint }> {
  const unlimited = await createKey(server, null)
  const { status } = await send(server, unlimited.key, body)
  expect(status).toBe(200)
  const cost = await spentBy(server, unlimited.hash)
  for (let limit = cost; ; limit *= 2n) {
    const { key, hash } = await createKey(server, limit)
    await send(server, key, body)
    if ((await spentBy(server, hash)) >= cost) return { cost, limit }
  }
}

/** Kinds with one hold, with one that is extended, and with several at once; the last test sends all kinds. */
const differentlyPaid = ['the plugin web', 'several turns', 'fusion']

describeOnEachDatabase(
  'limits of requests that pay for several things',
  (server, database) => {
    describe.each(database === 'sqlite' ? Object.keys(kinds) : differentlyPaid)('%s', (kind) => {
      test(`R1 R3 I4 of ${sent} concurrent requests, all that a limit can pay for pass, and no other costs anything`, async () => {
        const body = kinds[kind] ?? {}
        const one = await measure(server(), body)
        const { key, hash } = await createKey(server(), one.cost * BigInt(affordable - 1) + one.limit)
        const replies = await Promise.all(Array.from({ length: sent }, () => send(server(), key, body)))
        const served = replies.filter(({ status }) => status === 200).length
        expect(served).toBeGreaterThanOrEqual(affordable)
        expect(replies.filter(({ status }) => status === 402)).toHaveLength(sent - served)
        expect(await spentBy(server(), hash)).toBe(sumCosts(replies))
        expect(await requestHolds(server().gateway.db).selectAll().execute()).toEqual([])
      }, 60_000)
    })

    test('I6 moderation of a request on behalf of another is on its bill, also if that request is then rejected', async () => {
      await setKeyGuardrail(server(), { moderation: { action: 'flag' }, allowed_models: ['test/outer'] })
      const body = kinds.subagent ?? {}
      const { status, body: reply } = await send(server(), server().own.inferenceKey, body)
      await setKeyGuardrail(server(), { moderation: null, allowed_models: null })
      expect(status).toBe(200)
      const { body: record } = await server().call('GET', `/generation?id=${reply.id}`, {
        key: server().own.inferenceKey,
      })
      const { total_cost, headgate } = record.data
      const { lines } = headgate
      const moderations = lines.filter(({ name }: { name: string }) => name === 'moderation')
      // That of the request itself, and that of the one that may not use its model.
      expect(moderations.map(({ cost }: { cost: number }) => cost)).toEqual([0.0005, 0.0005])
      const charged = await server()
        .gateway.db.selectFrom('generations')
        .select(['id', 'cost_nanos'])
        .where('model', '=', 'test/moderator')
        .where(
          'id',
          'in',
          moderations.map((line: { generation_id: string }) => line.generation_id),
        )
        .execute()
      expect(charged.map(({ cost_nanos }) => cost_nanos)).toEqual([500_000n, 500_000n])
      const sum = lines.reduce((total: number, { cost }: { cost: number }) => total + cost, 0)
      expect(nanosFromUsd(reply.usage.cost)).toBe(nanosFromUsd(Number(sum.toFixed(9))))
      expect(total_cost).toBe(reply.usage.cost)
      const listed = await server().call('GET', '/generations?limit=10', {})
      expect(listed.body.data).toContainEqual(expect.objectContaining({ id: reply.id, total_cost }))
    })

    test('R1 requests of all kinds share a limit, which they never exceed', async () => {
      const { 'the plugin moderation': _, ...others } = kinds
      const bodies = [ask('Hello'), ...Object.values(others)]
      const limit = 24_000_000n
      const { key, hash } = await createKey(server(), limit)
      const replies = await Promise.all(
        Array.from({ length: 24 }, (_, index) => send(server(), key, bodies[index % bodies.length] ?? {})),
      )
      const paid = sumCosts(replies)
      expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 402]))
      const spent = await spentBy(server(), hash)
      expect(spent).toBeLessThanOrEqual(limit)
      // A request of a kind that none of the others was like may find out too late that the rest is too little.
      expect(spent - paid).toBeLessThan(limit / 100n)
    }, 60_000)
  },
  { settings },
)
