import { afterAll, beforeAll, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { startUpstream, type Upstream } from '../../../../test/support/upstream.ts'

for (const [rule, answers] of [
  ['', { limited: 402, unlimited: 200 }],
  ['billing: { unknown_price: refuse }', { limited: 402, unlimited: 402 }],
  ['billing: { unknown_price: zero }', { limited: 200, unlimited: 200 }],
  ['billing: { unknown_price: { prompt: "0.001", completion: "0.001" } }', { limited: 200, unlimited: 200 }],
] as const) {
  describeOnEachDatabase(
    `undeclared models, ${rule || 'without unknown_price'}`,
    (server) => {
      let upstream: Upstream
      beforeAll(async () => {
        upstream = await startUpstream()
        const body = {
          name: 'Local',
          base_url: `${upstream.url}/v1`,
          dialects: ['chat'],
          wildcards: ['local/*'],
        }
        const response = await server().call('PUT', '/catalogue/providers/local', { body })
        expect(response.status).toBe(200)
        expect(response.body.data.in_force.wildcards).toEqual(['local/*'])
      })
      afterAll(() => upstream.stop())

      const ask = (key: string, model: string) =>
        server().call('POST', '/chat/completions', {
          key,
          body: { model, max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] },
        })

      test('are served by the provider of the pattern, as the rule for unknown prices says', async () => {
        const created = await server().call('POST', '/keys', { body: { name: 'k', limit: 10 } })
        const unlimited = await ask(server().own.inferenceKey, 'local/any:7b')
        const limited = await ask(created.body.key, 'local/any:7b')
        expect({ limited: limited.status, unlimited: unlimited.status }).toEqual(answers)
        if (answers.unlimited === 200) {
          expect(unlimited.body).toMatchObject({ model: 'local/any:7b', provider: 'Local' })
          expect(upstream.requests.at(-1)?.json.model).toBe('any:7b')
          expect(unlimited.body.usage.cost > 0).toBe(rule.includes('prompt'))
        } else {
          expect(unlimited.body.error.message).toContain('the operator refuses')
        }
        expect((await ask(server().own.inferenceKey, 'other/any')).status).toBe(400)
      })
    },
    { settings: rule },
  )
}
