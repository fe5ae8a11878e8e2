import { describe, expect, test } from 'bun:test'
import { bwrapPath, formatContainerSettings } from '../support/containers.ts'
import { describeOnSqlite } from '../support/harness.ts'
import { itemOf, modelSettings, send } from './support.ts'

describe.if(bwrapPath !== null)('with a sandbox', () => {
  describeOnSqlite(
    'commands in containers',
    (server) => {
      test('shell: responses', async () => {
        const tool = { type: 'service:shell' }
        const { status, body } = await send(server(), 'responses', 'shell', [tool], { session_id: 'one' })
        expect(status).toBe(200)
        const item = itemOf(body, 'service:shell')
        expect(item).toMatchObject({ status: 'completed', container_id: 'sess_one', files: [] })
        expect(item.output[0].outcome.type).toBe('exit')
      })

      test('bash: messages', async () => {
        const tool = { type: 'service:bash', parameters: { engine: 'service' } }
        const { status, body } = await send(server(), 'messages', 'bash', [tool], { session_id: 'two' })
        expect(status).toBe(200)
        // biome-ignore lint/suspicious/noExplicitAny: blocks of every shape
        const block = body.content.find(({ type }: any) => type === 'service_bash_tool_result')
        expect(block).toMatchObject({ container_id: 'sess_two', content: { return_code: 0 } })
      })

      test.each(['responses', 'messages'] as const)(
        'another network policy of a container that is awake is 409 (%s)',
        async (format) => {
          const use = (allowed_domains: string[]) => {
            const network_policy = { type: 'allowlist', allowed_domains }
            const environment = { type: 'container_auto', network_policy }
            const shell = { type: 'service:shell', parameters: { environment } }
            return send(server(), format, 'shell', [shell], { session_id: `policy-${format}` })
          }
          expect((await use(['a.example.com'])).status).toBe(200)
          expect((await use(['a.example.com'])).status).toBe(200)
          const { status, body } = await use(['b.example.com'])
          expect(status).toBe(409)
          expect(body.error.message).toStartWith('network_policy: the container runs with another policy')
        },
      )

      test('an unknown file is an error of the request', async () => {
        const environment = { type: 'container_auto', file_ids: ['hg_file_000000000000000000000000'] }
        const tool = { type: 'service:shell', parameters: { environment } }
        expect((await send(server(), 'responses', 'Hello', [tool])).status).toBe(400)
      })
    },
    { settings: modelSettings + formatContainerSettings() },
  )
})

describeOnSqlite(
  'commands without containers',
  (server) => {
    test('a command that the client runs is handed over', async () => {
      const { body } = await send(server(), 'messages', 'Use bash', [{ type: 'service:bash' }])
      expect(body.stop_reason).toBe('tool_use')
      expect(body.content.at(-1)).toMatchObject({
        type: 'tool_use',
        name: 'bash',
        input: { command: 'Use bash' },
      })
    })

    test('commands that the gateway would run are rejected', async () => {
      const bash = { type: 'service:bash', parameters: { engine: 'service' } }
      for (const [format, tool] of [
        ['messages', bash],
        ['responses', { type: 'service:shell' }],
      ] as const) {
        const { status, body } = await send(server(), format, 'Hello', [tool])
        expect([status, body.error.message]).toEqual([400, expect.stringContaining('containers.engine')])
      }
    })
  },
  { settings: modelSettings },
)
