import { expect, test } from 'bun:test'
import { checkLedger } from '../../src/ledger/check.ts'
import { describeOnEachDatabase, type TestServer } from '../support/harness.ts'
import { type Format, itemOf, modelSettings, send, stream } from './support.ts'

const advisorTool = { type: 'service:advisor', parameters: { model: 'test/inner' } }

const painterTool = { type: 'service:image_generation', parameters: { model: 'sandbox/painter' } }

/** Every tool that makes requests to models: a prompt, its entry, and the number of these requests. */
const nestedCases: [string, string, object, number][] = [
  ['an advisor', 'Ask the advisor now', advisorTool, 1],
  [
    'a subagent with a tool',
    'Let subagent use datetime',
    { type: 'service:subagent', parameters: { model: 'test/inner', tools: [{ type: 'service:datetime' }] } },
    1,
  ],
  [
    'a panel with a member that fails, and its analyst',
    'Ask fusion now',
    {
      type: 'service:fusion',
      parameters: { analysis_models: ['test/inner', 'test/outer', 'test/broken'], model: 'test/inner' },
    },
    4,
  ],
  ['an image', 'image_generation of a tree', painterTool, 1],
]

interface ListedRequest {
  id: string
  cost: number
  total_cost: number
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0)
}

/** Reads the totals of the list of requests, analytics and the ledger so far. */
async function readBooks(server: TestServer) {
  const { body: list } = await server.call('GET', '/generations?limit=100')
  const [from, to] = [-3_600_000, 3_600_000].map((ms) => new Date(server.clock.now() + ms).toISOString())
  const { body: analytics } = await server.call('POST', '/analytics/query', {
    body: { metrics: ['credits_usage'], time_range: { start: from, end: to } },
  })
  const { body: credits } = await server.call('GET', '/credits')
  return {
    listed: list.data as ListedRequest[],
    analyzed: Number(analytics.data.data[0]?.credits_usage ?? 0),
    spent: credits.data.total_usage as number,
  }
}

describeOnEachDatabase(
  'tools that ask models',
  (server) => {
    test('an advisor answers the model, in a request with a record and a cost of its own', async () => {
      const { status, body } = await send(server(), 'responses', 'Ask the advisor now', [advisorTool])
      expect(status).toBe(200)
      const item = itemOf(body, 'service:advisor')
      expect(item).toMatchObject({
        status: 'completed',
        model: 'test/inner',
        prompt: 'Ask the advisor now',
        advice: 'Ask the advisor now',
      })
      expect(item.instance_name).toBeUndefined()
      expect(body.output.at(-1).content[0].text).toContain('Ask the advisor now')
      const rows = await server().gateway.db.selectFrom('generations').selectAll().execute()
      const inner = rows.filter(({ model }) => model === 'test/inner')
      const outer = rows.find(({ model }) => model === 'test/outer')
      expect(inner).toHaveLength(1)
      const total = Number((inner[0]?.cost_nanos ?? 0n) + (outer?.cost_nanos ?? 0n)) / 1e9
      expect(body.usage.cost).toBeCloseTo(total, 12)
    })

    test('advice is streamed if the entry asks for it', async () => {
      const tool = { type: 'service:advisor', parameters: { model: 'test/inner', stream: true } }
      const events = await stream(server(), 'responses', 'Ask the advisor now', [tool])
      const deltas = events.filter(({ type }) => type === 'response.advisor_call.delta')
      expect(deltas.map(({ delta }) => delta).join('')).toBe('Ask the advisor now')
      expect(events.at(-1).type).toBe('response.completed')
    })

    test('an advisor remembers what the client sends back', async () => {
      const first = await send(server(), 'responses', 'Ask the advisor one', [advisorTool])
      const item = itemOf(first.body, 'service:advisor')
      const { body } = await server().call('POST', '/responses', {
        key: server().own.inferenceKey,
        body: {
          model: 'test/outer',
          tools: [advisorTool],
          input: [
            { role: 'user', content: 'Ask the advisor one' },
            item,
            { role: 'user', content: 'Ask the advisor two' },
          ],
        },
      })
      const rows = await server().gateway.db.selectFrom('generations').selectAll().execute()
      const inner = rows.filter(({ model }) => model === 'test/inner').map(({ tokens_input }) => tokens_input)
      expect(itemOf(body, 'service:advisor').advice).toBe('Ask the advisor two')
      expect(Math.max(...inner.map(Number))).toBeGreaterThan(Math.min(...inner.map(Number)))
    })

    test('an advisor that fails is an error for the model', async () => {
      const tool = { type: 'service:advisor', parameters: { model: 'test/broken' } }
      const { status, body } = await send(server(), 'responses', 'Ask the advisor now', [tool])
      expect(status).toBe(200)
      expect(itemOf(body, 'service:advisor')).toMatchObject({ status: 'failed', model: 'test/broken' })
    })

    test('advisors have different names', async () => {
      const named = (name?: string) => ({
        type: 'service:advisor',
        parameters: { model: 'test/inner', name },
      })
      for (const tools of [
        [named(), named()],
        [named('a'), named('a')],
      ]) {
        const { status, body } = await send(server(), 'chat', 'Hello', tools)
        expect([status, body.error.message]).toEqual([400, expect.stringContaining('parameters.name')])
      }
      const { body } = await send(server(), 'responses', 'Ask advisor_b now', [named('a'), named('b')])
      expect(itemOf(body, 'service:advisor').instance_name).toBe('advisor_b')
    })

    test('an advisor in the form of the Messages format', async () => {
      const tool = { type: 'advisor_20260301', name: 'advisor', model: 'test/inner', max_uses: 1 }
      const { status, body } = await send(server(), 'messages', 'Ask the advisor sandbox:rounds=2', [tool])
      expect(status).toBe(200)
      // biome-ignore lint/suspicious/noExplicitAny: blocks of every shape
      const results = body.content.filter(({ type }: any) => type === 'advisor_tool_result')
      // biome-ignore lint/suspicious/noExplicitAny: blocks of every shape
      expect(results.map(({ content }: any) => content)).toEqual([
        { type: 'advisor_result', text: expect.stringContaining('Ask the advisor'), stop_reason: 'end_turn' },
        { type: 'advisor_tool_result_error', error_code: 'max_uses_exceeded' },
      ])
    })

    test('the image tool of the Responses format is run for models whose provider has none', async () => {
      const tool = { type: 'image_generation', model: 'sandbox/painter', size: '1024x1024' }
      const events = await stream(server(), 'responses', 'image_generation of a tree', [tool])
      const types = events.map(({ type }) => type)
      for (const name of ['in_progress', 'generating', 'completed'])
        expect(types).toContain(`response.image_generation_call.${name}`)
      const { response } = events.at(-1)
      expect(itemOf(response, 'image_generation_call')).toMatchObject({
        status: 'completed',
        result: expect.stringMatching(/^iVBOR/),
      })
    })

    test('a subagent does a task with tools of its own', async () => {
      const tool = {
        type: 'service:subagent',
        parameters: { model: 'test/inner', tools: [{ type: 'service:datetime' }], max_tool_calls: 2 },
      }
      const { body } = await send(server(), 'responses', 'Let subagent use datetime', [tool])
      expect(itemOf(body, 'service:subagent')).toMatchObject({
        status: 'completed',
        model: 'test/inner',
        outcome: expect.stringContaining('datetime returned'),
      })
    })

    test('what a subagent cannot have is rejected', async () => {
      const bad = [
        { tools: [{ type: 'service:advisor' }] },
        { tools: [{ type: 'function' }] },
        { inherit_functions: true },
        { max_tool_calls: 26 },
        { color: 'red' },
      ]
      for (const parameters of bad) {
        const { status } = await send(server(), 'responses', 'Hello', [
          { type: 'service:subagent', parameters },
        ])
        expect(status).toBe(400)
      }
    })

    test('tools are rejected in formats that do not have them', async () => {
      const refused: [Format, string][] = [
        ['messages', 'advisor'],
        ['messages', 'subagent'],
        ['messages', 'fusion'],
        ['messages', 'files'],
        ['messages', 'apply_patch'],
        ['chat', 'apply_patch'],
        ['chat', 'tool_search'],
        ['chat', 'shell'],
        ['chat', 'bash'],
        ['responses', 'bash'],
      ]
      for (const [format, name] of refused) {
        const { status, body } = await send(server(), format, 'Hello', [{ type: `service:${name}` }])
        expect([format, name, status]).toEqual([format, name, 400])
        expect(body.error.message).toContain('not available in this format')
      }
    })

    for (const format of ['chat', 'messages', 'responses'] as const) {
      test(`models are searched: ${format}`, async () => {
        const tool = { type: 'service:experimental__search_models', parameters: { max_results: 2 } }
        const { status, body } = await send(server(), format, 'search_models inner', [tool])
        expect(status).toBe(200)
        expect(JSON.stringify(body)).toContain('test/inner')
      })

      test(`an image is generated: ${format}`, async () => {
        const tool = { type: 'service:image_generation', parameters: { model: 'sandbox/painter' } }
        const { status, body } = await send(server(), format, 'image_generation of a tree', [tool])
        expect(status).toBe(200)
        if (format === 'chat') expect(body.choices[0].message.images).toHaveLength(1)
        if (format === 'responses')
          expect(itemOf(body, 'service:image_generation').imageB64).toStartWith('iVBOR')
        const rows = await server().gateway.db.selectFrom('generations').selectAll().execute()
        expect(rows.some(({ model }) => model === 'sandbox/painter')).toBe(true)
      })
    }

    test.each(nestedCases.flatMap((one) => [[...one, false] as const, [...one, true] as const]))(
      'I5 I6 %s costs the sum of its parts, in every book (%#)',
      async (_, prompt, tool, nested, isStream) => {
        const before = await readBooks(server())
        const usage = isStream
          ? (await stream(server(), 'responses', prompt, [tool])).at(-1).response.usage
          : (await send(server(), 'responses', prompt, [tool])).body.usage
        const { upstream_inference_cost, server_tool_cost } = usage.cost_details
        expect(usage.cost).toBeGreaterThan(0)
        expect(server_tool_cost).toBeGreaterThan(0)
        expect(upstream_inference_cost + server_tool_cost).toBeCloseTo(usage.cost, 9)

        const after = await readBooks(server())
        const known = new Set(before.listed.map(({ id }) => id))
        const added = after.listed.filter(({ id }) => !known.has(id))
        const records = await Promise.all(
          added.map(async ({ id }) => (await server().call('GET', `/generation?id=${id}`)).body.data),
        )
        expect(added.map(({ total_cost }) => total_cost)).toEqual(records.map(({ total_cost }) => total_cost))
        expect(added.map(({ cost }) => cost)).toEqual(records.map(({ headgate }) => headgate.own_cost))
        const [outer, ...others] = records.filter(({ headgate }) => headgate.parent_id === null)
        expect(others).toEqual([])
        const children = records.filter(({ headgate }) => headgate.parent_id === outer.id)
        expect(children).toHaveLength(nested)
        expect(records).toHaveLength(nested + 1)

        const lines: { kind: string; cost: number; generation_id: string | null }[] = outer.headgate.lines
        const requests = lines.filter(({ kind }) => kind === 'request')
        expect(requests.map(({ generation_id }) => generation_id).sort()).toEqual(
          children.map(({ id }) => id).sort(),
        )
        for (const { generation_id, cost } of requests)
          expect(children.find(({ id }) => id === generation_id).total_cost).toBe(cost)
        expect(outer.total_cost).toBe(usage.cost)
        expect(sum(requests.map(({ cost }) => cost))).toBeCloseTo(server_tool_cost, 9)
        expect(sum(lines.map(({ cost }) => cost))).toBeCloseTo(usage.cost, 9)
        expect(sum(added.map(({ cost }) => cost))).toBeCloseTo(usage.cost, 9)
        expect(after.analyzed - before.analyzed).toBeCloseTo(usage.cost, 9)
        expect(after.spent - before.spent).toBeCloseTo(usage.cost, 9)
        const { findings } = await checkLedger(server().gateway.db)
        expect(findings.flatMap(({ violations }) => violations)).toEqual([])
      },
    )
  },
  { settings: modelSettings },
)
