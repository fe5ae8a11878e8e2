import { expect, test } from 'bun:test'
import { describeOnSqlite } from '../support/harness.ts'
import { itemOf, modelSettings, send, stream } from './support.ts'

const tool = {
  type: 'service:fusion',
  parameters: { analysis_models: ['test/inner', 'test/outer', 'test/broken'], model: 'test/inner' },
}

const presets = `
fusion:
  general-fast: { analysis_models: [test/inner], model: test/outer }
`

describeOnSqlite(
  'fusion',
  (server) => {
    test('a panel answers, and an analyst compares the answers', async () => {
      await server().gateway.db.deleteFrom('generations').execute()
      const { status, body } = await send(server(), 'responses', 'Ask fusion now', [tool])
      expect(status).toBe(200)
      const item = itemOf(body, 'service:fusion')
      expect(item).toMatchObject({
        status: 'completed',
        responses: [
          { model: 'test/inner', content: 'Ask fusion now' },
          { model: 'test/outer', content: 'Ask fusion now' },
        ],
        failed_models: [{ model: 'test/broken', status_code: 502 }],
      })
      expect(Object.keys(item.analysis).sort()).toEqual(
        ['blind_spots', 'consensus', 'contradictions', 'partial_coverage', 'unique_insights'].sort(),
      )
      expect(body.output.at(-1).content[0].text).toContain('fusion returned')
      const rows = await server().gateway.db.selectFrom('generations').selectAll().execute()
      // Two members that replied, one that failed, the analyst, and the request itself.
      expect(rows).toHaveLength(5)
      const total = rows.reduce((sum, { cost_nanos }) => sum + BigInt(cost_nanos), 0n)
      expect(body.usage.cost).toBeCloseTo(Number(total) / 1e9, 12)
    })

    test('a stream has the events of the panel', async () => {
      const events = await stream(server(), 'responses', 'Ask fusion now', [tool])
      const types = events.flatMap(({ type }) =>
        type.startsWith('response.fusion_call.') ? type.slice('response.fusion_call.'.length) : [],
      )
      const order = ['in_progress', 'panel.added', 'panel.delta', 'panel.completed', 'analysis.in_progress']
      const positions = [...order, 'analysis.completed', 'completed'].map((type) => types.indexOf(type))
      expect(positions).not.toContain(-1)
      expect(positions).toEqual(positions.toSorted((a, b) => a - b))
      expect(types).toContain('panel.failed')
      const numbers = events.map(({ sequence_number }) => sequence_number)
      expect(numbers).toEqual(numbers.map((_, index) => index))
      const added = events.find(({ type }) => type === 'response.fusion_call.panel.added')
      expect(added.item_id).toBeString()
      expect(events.at(-1).type).toBe('response.completed')
    })

    test('replies that could not be compared are given as they are', async () => {
      const parameters = { analysis_models: ['test/inner'], model: 'test/broken' }
      const { body } = await send(server(), 'responses', 'Ask fusion now', [{ ...tool, parameters }])
      expect(itemOf(body, 'service:fusion')).toMatchObject({
        status: 'completed',
        failure_reason: 'judge_request_failed',
        responses: [{ model: 'test/inner' }],
      })
    })

    test('a panel without a reply is an error for the model, with the reason', async () => {
      const cases = [
        [['test/broken'], 'all_panels_failed'],
        [['test/none', 'test/missing'], 'invalid_model'],
      ] as const
      for (const [analysis_models, failure_reason] of cases) {
        const parameters = { analysis_models, model: 'test/inner' }
        const { status, body } = await send(server(), 'responses', 'Ask fusion now', [
          { ...tool, parameters },
        ])
        expect(status).toBe(200)
        expect(itemOf(body, 'service:fusion')).toMatchObject({ status: 'incomplete', failure_reason })
      }
    })

    test('a second call is rejected', async () => {
      const { body } = await send(server(), 'responses', 'Ask fusion sandbox:rounds=2', [tool])
      // biome-ignore lint/suspicious/noExplicitAny: items of every shape
      const items = body.output.filter(({ type }: any) => type === 'service:fusion')
      // biome-ignore lint/suspicious/noExplicitAny: items of every shape
      expect(items.map(({ failure_reason }: any) => failure_reason)).toEqual([
        undefined,
        'fusion_invocation_capped',
      ])
    })

    for (const format of ['chat', 'messages', 'responses'] as const) {
      test(`a router model answers with the result of a panel: ${format}`, async () => {
        const { status, body } = await send(server(), format, 'Hello there', [], {
          model: 'service/fusion-flash',
        })
        expect(status).toBe(200)
        expect(body.model).toBe('test/outer')
        expect(JSON.stringify(body)).toContain('fusion returned')
      })
    }

    test('the plugin chooses the models', async () => {
      const plugins = [{ id: 'fusion', model: 'test/outer', analysis_models: ['test/inner'] }]
      const { body } = await send(server(), 'responses', 'Hello', [], { model: 'service/fusion', plugins })
      expect(itemOf(body, 'service:fusion').responses).toEqual([{ model: 'test/inner', content: 'Hello' }])
      const offered = await send(server(), 'responses', 'Ask fusion', [], { plugins })
      expect(itemOf(offered.body, 'service:fusion')).toMatchObject({ status: 'completed' })
      const unused = await send(server(), 'responses', 'Hello', [], { plugins })
      expect(itemOf(unused.body, 'service:fusion')).toBeUndefined()
    })

    test('what a panel cannot be is rejected', async () => {
      const bad = [
        { analysis_models: [] },
        { analysis_models: Array(9).fill('test/inner') },
        { max_tool_calls: 17 },
        { tools: [{ type: 'service:fusion' }] },
      ]
      for (const parameters of bad) {
        const { status } = await send(server(), 'chat', 'Hello', [{ type: 'service:fusion', parameters }])
        expect(status).toBe(400)
      }
    })
  },
  { settings: modelSettings + presets },
)
