// The bytes that PostgreSQL stores for a generation, by table and index, after requests of several kinds.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Db, isPostgresUrl, openDb } from '../src/platform/db/db.ts'
import { generateLoad } from './load.ts'
import { minimalEnvironment, startProcess } from './processes.ts'
import { encodeRequest } from './requests.ts'
import { formatSizes, measureSizes } from './table-sizes.ts'

const connections = 64
const waitMs = 50

interface Model {
  id: string
  provider: string
  upstreamModel: string
}

/** Names as long as those of real models. */
const models: Model[] = [
  { id: 'openai/gpt-5-mini', provider: 'vendor-one', upstreamModel: 'gpt-5-mini-2025-08-07' },
  { id: 'anthropic/claude-sonnet-4.5', provider: 'vendor-two', upstreamModel: 'claude-sonnet-4-5-20250929' },
  { id: 'deepseek/deepseek-v3.2-exp', provider: 'vendor-two', upstreamModel: 'deepseek-v3.2-exp' },
  { id: 'qwen/qwen3-coder-480b-a35b', provider: 'vendor-one', upstreamModel: 'qwen3-coder-480b-a35b' },
]

const applications = [
  { 'user-agent': 'OpenAI/Python 2.8.1' },
  {
    'user-agent': 'AsyncOpenAI/Python 1.109.1',
    'http-referer': 'https://assistant.example.com',
    'x-title': 'Support assistant',
  },
  { 'user-agent': 'OpenAI/JS 6.9.0', 'http-referer': 'https://editor.example.com/', 'x-title': 'Editor' },
  { 'user-agent': 'python-httpx/0.28.1' },
]

/** Sends this many requests to a server on the database, and prints what each of them takes there. */
export async function measureRecordBytes(requests: number): Promise<void> {
  const url = process.env.TEST_DATABASE_URL ?? ''
  if (!isPostgresUrl(url)) throw new Error('it measures PostgreSQL, and there is none')
  const upstream = startUpstream()
  const server = await startServer(url, upstream.port ?? 0)
  const db = openDb(url)
  try {
    for (let sent = 0; sent < requests; ) sent += await sendSome(server, requests - sent)
    await waitUntilRolledUp(db)
    process.stdout.write(formatSizes(await measureSizes(db)))
  } finally {
    await db.destroy()
    await server.stop()
    await upstream.stop(true)
  }
}

/** An OpenAI-compatible server whose replies have ids, texts and counts as real ones have. */
function startUpstream() {
  return Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { model, stream } = (await request.json()) as { model: string; stream?: boolean }
      const id = `chatcmpl-${crypto.randomUUID().replaceAll('-', '').slice(0, 29)}`
      const prompt_tokens = 200 + Math.floor(Math.random() * 4000)
      const completion_tokens = 20 + Math.floor(Math.random() * 800)
      const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens }
      const head = { id, created: 1767225600, model, service_tier: 'default' }
      if (!stream) {
        const message = { role: 'assistant', content: 'A short answer.' }
        const choices = [{ index: 0, message, finish_reason: 'stop' }]
        return Response.json({ ...head, object: 'chat.completion', choices, usage })
      }
      const chunks = [
        { choices: [{ index: 0, delta: { role: 'assistant', content: 'A short' }, finish_reason: null }] },
        { choices: [{ index: 0, delta: { content: ' answer.' }, finish_reason: null }] },
        { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
        { choices: [], usage },
      ].map((chunk) => `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...chunk })}\n\n`)
      return new Response(`${chunks.join('')}data: [DONE]\n\n`, {
        headers: { 'content-type': 'text/event-stream' },
      })
    },
  })
}

interface Server {
  port: number
  keys: string[]
  stop: () => Promise<void>
}

async function startServer(databaseUrl: string, upstreamPort: number): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-bytes-'))
  const settings = join(folder, 'headgate.yaml')
  writeFileSync(settings, JSON.stringify(buildSettings(upstreamPort)))
  const child = await startProcess({
    command: [process.execPath, 'src/cli.ts', 'serve'],
    cwd: process.cwd(),
    env: {
      ...minimalEnvironment,
      PORT: '0',
      LOG_LEVEL: 'error',
      HEADGATE_DATA_DIR: join(folder, 'data'),
      HEADGATE_CONFIG: settings,
      HEADGATE_INITIAL_CREDITS: '1000000',
      DATABASE_URL: databaseUrl,
    },
    folder,
    ready: /Management key\s+(\S+)[\s\S]*Base URL: http:\/\/127\.0\.0\.1:(\d+)/,
  })
  const port = Number(child.ready[2])
  const keys = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/keys`, {
        method: 'POST',
        headers: { authorization: `Bearer ${child.ready[1]}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: `application ${index}`, limit: 10_000, limit_reset: 'monthly' }),
      })
      return String(((await response.json()) as { key: string }).key)
    }),
  )
  return { port, keys, stop: child.stop }
}

function buildSettings(upstreamPort: number) {
  const providers = [...new Set(models.map(({ provider }) => provider))]
  return {
    egress: { allow_private: [`127.0.0.1:${upstreamPort}`] },
    limits: { drain_delay: 0 },
    providers: providers.map((slug) => ({
      slug,
      name: slug,
      base_url: `http://127.0.0.1:${upstreamPort}/v1`,
      api_key: 'bench',
      dialects: ['chat'],
    })),
    models: models.map(({ id, provider, upstreamModel }) => ({
      id,
      name: id,
      context_length: 200_000,
      endpoints: [
        {
          provider,
          upstream_model: upstreamModel,
          max_completion_tokens: 8192,
          pricing: { prompt: '0.00000015', completion: '0.0000006' },
        },
      ],
    })),
  }
}

async function sendSome({ port, keys }: Server, atMost: number): Promise<number> {
  const durationMs = atMost < 2000 ? 0 : Math.min(20_000, atMost / 2)
  const timings = await generateLoad({
    port,
    requests: buildRequests(keys),
    connections: Math.min(connections, atMost),
    durationMs,
    perSecond: null,
  })
  return timings.length
}

/** Applications have keys of their own; some name a session, an end user, or a request. */
function buildRequests(keys: string[]): Buffer[] {
  return Array.from({ length: 2000 }, (_, index) => {
    const model = models[index % models.length]?.id
    const application = applications[(index % keys.length) % applications.length]
    const headers = {
      authorization: `Bearer ${keys[index % keys.length]}`,
      ...application,
      ...(index % 10 === 0 && { 'x-session-id': `session-${index % 500}-4f1c8a` }),
    }
    const body = {
      model,
      messages: [{ role: 'user', content: `Question ${index}: what is the capital of France?` }],
      max_tokens: 1000,
      ...(index % 2 === 0 && { stream: true }),
      ...(index % 5 === 0 && { user: `customer-${index % 300}` }),
    }
    return encodeRequest('/api/v1/chat/completions', headers, JSON.stringify(body))
  })
}

async function waitUntilRolledUp(db: Db): Promise<void> {
  for (let attempts = 0; attempts < 1200; attempts++) {
    const waiting = await db
      .selectFrom('unrolled_generations')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    if (waiting.count < 2000) return
    await Bun.sleep(waitMs)
  }
}
