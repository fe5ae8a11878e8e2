import { expect, test } from 'bun:test'
import { describeOnEachDatabase, type TestServer } from './support/harness.ts'

const canary = 'canary-4f1c9'

/** Changes whose bodies have secrets, prompts or replies. */
const changes: Record<string, (server: TestServer) => Promise<unknown>> = {
  'a preset with a system prompt': ({ call }) =>
    call('POST', '/presets/canary/chat/completions', {
      body: {
        model: 'sandbox/echo',
        messages: [
          { role: 'system', content: canary },
          { role: 'user', content: canary },
        ],
      },
    }),
  'a provider with a credential': ({ call }) =>
    call('PUT', '/catalogue/providers/canary', {
      body: {
        name: 'Sample',
        base_url: 'http://127.0.0.1:9/v1',
        dialects: ['chat'],
        api_key: `${canary}-key`,
        headers: { 'x-secret': canary },
      },
    }),
}

describeOnEachDatabase(
  'the audit log',
  (server) => {
    test.each(Object.entries(changes))('S12 R40 has no content of %s', async (_, change) => {
      const before = await readLog(server())
      await change(server())
      const after = await readLog(server())
      expect(after.length).toBeGreaterThan(before.length)
      expect(after).not.toContain(canary)
      expect(after).not.toMatch(/v1\.[\w-]{20}/)
    })
  },
  { settings: 'egress: { allow_private: ["127.0.0.1:9"] }' },
)

async function readLog({ gateway }: TestServer): Promise<string> {
  return JSON.stringify(await gateway.db.selectFrom('audit_entries').selectAll().execute())
}
