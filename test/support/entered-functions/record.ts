// Prints, as JSON, the functions of `src` that a plain chat request enters.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { recordEntered, sourceFunctions } from './instrument.ts'

const { openGateway, startServer } = await import('../../../src/main.ts')
const { readConfig } = await import('../../../src/config.ts')
const { bootstrapOrganization } = await import('../../../src/gateway/bootstrap.ts')

const head = { id: 'c', created: 1, model: 'vendor-model' }
const usage = { prompt_tokens: 200, completion_tokens: 100, total_tokens: 300 }
const words = 'word '.repeat(100)

const upstream = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: async (request) => {
    const { stream } = (await request.json()) as { stream?: boolean }
    return stream ? new Response(writeEvents(), eventStream) : Response.json(reply)
  },
})
const reply = {
  ...head,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: words }, finish_reason: 'stop' }],
  usage,
}
const eventStream = { headers: { 'content-type': 'text/event-stream' } }

async function* writeEvents(): AsyncGenerator<string> {
  const write = (fields: object) =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...fields })}\n\n`
  for (let index = 0; index < 20; index++) {
    yield write({ choices: [{ index: 0, delta: { content: ` word${index}` }, finish_reason: null }] })
    await Bun.sleep(1)
  }
  yield write({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
  yield `${write({ choices: [], usage })}data: [DONE]\n\n`
}

const settings = `providers:
  - { slug: one, name: One, base_url: "${upstream.url.origin}/v1", dialects: [chat], api_key: vendor-secret }
models:
  - id: test/chat
    name: Chat
    endpoints:
      - { provider: one, upstream_model: vendor-model, pricing: { prompt: "0.000001", completion: "0.000004" } }
`

const dataDir = mkdtempSync(join(tmpdir(), 'headgate-entered-'))
const settingsPath = join(dataDir, 'headgate.yaml')
await Bun.write(settingsPath, settings)
const gateway = await openGateway(
  readConfig({ HEADGATE_DATA_DIR: dataDir, HEADGATE_CONFIG: settingsPath, PORT: '0', LOG_LEVEL: 'silent' }),
)
const start = await bootstrapOrganization(gateway, { managementKey: null, initialCredits: 100_000_000_000n })
const server = startServer(gateway)

async function send(stream: boolean): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${server.port}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${start?.inferenceKey}`,
      'content-type': 'application/json',
      'accept-encoding': 'identity',
    },
    body: JSON.stringify({
      model: 'test/chat',
      stream,
      messages: [{ role: 'user', content: 'x'.repeat(800) }],
    }),
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(text)
}

/** Jobs run meanwhile: only what every one of several requests enters belongs to it. */
async function listEntered(stream: boolean) {
  for (let index = 0; index < 5; index++) await send(stream)
  const orders: number[][] = []
  for (let index = 0; index < 5; index++) orders.push(await recordEntered(() => send(stream)))
  const [first = [], ...others] = orders
  const sets = others.map((order) => new Set(order))
  return [...new Set(first)]
    .filter((index) => sets.every((set) => set.has(index)))
    .map((index) => sourceFunctions[index])
}

const result = { whole: await listEntered(false), streamed: await listEntered(true) }
await Bun.write(Bun.stdout, JSON.stringify(result))
await server.stop(true)
await upstream.stop(true)
rmSync(dataDir, { recursive: true })
process.exit(0)
