import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../support/harness.ts'
import { type Format, itemOf, modelSettings, send, stream } from './support.ts'

const advisorTool = { type: 'service:advisor', parameters: { model: 'test/inner' } }

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
        { colour: 'red' },
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
  },
  { settings: modelSettings },
)
