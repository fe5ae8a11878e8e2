import { afterAll, beforeAll, expect, test } from 'bun:test'
import { listSnippets } from '../../console/src/screens/home/get-started/snippets.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'

const guard = `${import.meta.dir}/loopback-only.ts`

let server: TestServer
beforeAll(async () => {
  server = await startTestServer('sqlite')
})
afterAll(() => server.stop())

function findSnippet(id: string): string {
  const target = { server: server.url, key: server.own.inferenceKey, model: 'sandbox/echo' }
  const code = listSnippets(target).find((snippet) => snippet.id === id)?.samples[0]?.code
  if (!code) throw new Error(`there is no snippet ${id}`)
  return code
}

/** Runs a command in this folder, which has the libraries. */
async function run(command: string[]): Promise<string> {
  const process = Bun.spawn(command, { cwd: import.meta.dir, stdout: 'pipe', stderr: 'inherit' })
  const output = await new Response(process.stdout).text()
  expect(await process.exited).toBe(0)
  return output
}

test('the snippet for curl gets a reply', async () => {
  const reply = JSON.parse(await run(['sh', '-c', findSnippet('curl').replace(/^curl/, 'curl -s')]))
  expect(reply.choices[0].message.content).toBe('Hello')
})

test.each(['openai-node', 'anthropic', 'ai-sdk'])('the snippet %s gets a reply', async (id) => {
  const output = await run([process.execPath, '--preload', guard, '--eval', findSnippet(id)])
  expect(output.trim()).toBe('Hello')
})
