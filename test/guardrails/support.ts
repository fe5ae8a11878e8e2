import { sha256 } from '../../src/platform/crypto/crypto.ts'
import type { TestServer } from '../support/harness.ts'

const ids = new WeakMap<TestServer, string>()

/** Changes the guardrail of the test server's inference key. */
export async function setKeyGuardrail(server: TestServer, settings: object): Promise<void> {
  const id = ids.get(server)
  if (id !== undefined) {
    await expectOk(server.call('PATCH', `/guardrails/${id}`, { body: settings }))
    return
  }
  const { data } = await expectOk(
    server.call('POST', '/guardrails', { body: { name: 'Filters', ...settings } }),
  )
  ids.set(server, data.id)
  const key_hashes = [sha256(server.own.inferenceKey)]
  await expectOk(server.call('POST', `/guardrails/${data.id}/assignments/keys`, { body: { key_hashes } }))
}

async function expectOk(calling: ReturnType<TestServer['call']>) {
  const { status, body } = await calling
  if (status >= 300) throw new Error(JSON.stringify(body))
  return body
}
