// What a gateway must do for a whole reply, in one script and for one kind of request: how much of the cost of a
// request is due to its duties, and how much to the code that can do more than this.
import { fdatasync, openSync, unlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newTimeOrderedHex } from '../../src/platform/crypto/ids.ts'

const upstream = `http://127.0.0.1:${process.argv[2]}/v1/chat/completions`

interface Meter {
  limit: bigint
  held: bigint
  spent: bigint
}

/** Organization, workspace, member and key. */
const subjects = ['organization', 'workspace', 'member', 'key']
const meters = subjects.map((): Meter => ({ limit: 10n ** 18n, held: 0n, spent: 0n }))
const keys = new Map([['Bearer bench', { id: 1, meters }]])
const counts = new Map<number, number>()
const worstCase = 5_000_000n

/** Headers of options: as many as the gateway reads. */
const optionHeaders = [
  ...['x-session-id', 'session-id', 'x-session-affinity', 'x-claude-code-session-id', 'x-openwebui-chat-id'],
  ...['http-referer', 'x-title', 'x-headgate-title', 'x-openrouter-title', 'x-openwebui-user-id'],
  ...['x-headgate-strict', 'x-service-metadata', 'x-openrouter-metadata', 'x-headgate-reasoning-formats'],
  ...['user-agent', 'x-request-id', 'traceparent', 'origin', 'content-length'],
]

/** The columns of a record besides those that differ; the journal has them once, with the hold. */
const columns = Array.from({ length: 55 }, (_, index) => (index % 3 === 0 ? `value ${index}` : index))

const journalPath = join(tmpdir(), `headgate-bench-${process.pid}.journal`)
const file = openSync(journalPath, 'wx')
// It exists as long as this process does.
unlinkSync(journalPath)
const maxJournalBytes = 8 * 1024 * 1024
let journalSize = 0
let waiting: (() => void)[] = []
let isSyncing = false

function append(line: unknown[]): void {
  if (journalSize > maxJournalBytes) journalSize = 0
  journalSize += writeSync(file, `${JSON.stringify(line)}\n`, journalSize)
}

/** All that wait share a sync. */
function sync(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (!isSyncing) beginSync()
  })
}

function beginSync(): void {
  isSyncing = true
  const finished = waiting
  waiting = []
  fdatasync(file, () => {
    for (const resolve of finished) resolve()
    isSyncing = false
    if (waiting.length > 0) beginSync()
  })
}

/** The database, as far behind the journal as that of the gateway. */
const writer = new Worker(new URL('duties-writer.ts', import.meta.url))
const flushIntervalMs = 250
let unflushed: unknown[][] = []

function record(values: unknown[]): void {
  if (unflushed.push(values) === 1) setTimeout(flush, flushIntervalMs)
}

function flush(): void {
  // Text, because it is faster to send than a structured clone.
  writer.postMessage(JSON.stringify(unflushed))
  unflushed = []
}

async function handle(request: Bun.BunRequest): Promise<Response> {
  const startedAt = performance.now()
  const key = keys.get(request.headers.get('authorization') ?? '')
  if (!key) return new Response(null, { status: 401 })
  const text = await request.text()
  const { model } = JSON.parse(text) as { model: string }
  const options = optionHeaders.map((name) => request.headers.get(name))
  const id = `gen-${newTimeOrderedHex()}`
  if (!placeHold(key.meters)) return new Response(null, { status: 402 })
  append(['admit', id, key.id, model, options, columns])
  const body = await forward(request, text.replace(`"${model}"`, `"${model.replace('bench/', '')}"`))
  const cost = BigInt(body.usage.total_tokens) * 150n
  settleHold(key.meters, cost)
  const latency = Math.round(performance.now() - startedAt)
  append(['settle', id, `${cost}`, latency])
  record([id, 'organization', new Date().toISOString(), `${cost}`, latency, ...columns])
  await sync()
  counts.set(200, (counts.get(200) ?? 0) + 1)
  const headers = { 'x-request-id': id, 'x-generation-id': id }
  return Response.json({ ...body, id, model, provider: 'Mock' }, { headers })
}

function placeHold(held: readonly Meter[]): boolean {
  for (const meter of held) if (meter.spent + meter.held + worstCase > meter.limit) return false
  for (const meter of held) meter.held += worstCase
  return true
}

function settleHold(held: readonly Meter[], cost: bigint): void {
  for (const meter of held) {
    meter.held -= worstCase
    meter.spent += cost
  }
}

/** Ends with the client, or after a time. */
async function forward(request: Bun.BunRequest, body: string): Promise<{ usage: { total_tokens: number } }> {
  const controller = new AbortController()
  const abort = () => controller.abort()
  request.signal.addEventListener('abort', abort)
  const timer = setTimeout(abort, 600_000)
  server.timeout(request, 0)
  const headers = {
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'bench',
    authorization: 'Bearer bench',
  }
  const { signal } = controller
  const reply = await fetch(upstream, { method: 'POST', headers, body, signal, redirect: 'manual' })
  const text = await reply.text()
  clearTimeout(timer)
  request.signal.removeEventListener('abort', abort)
  return JSON.parse(text) as { usage: { total_tokens: number } }
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  routes: { '/v1/chat/completions': { POST: handle } },
})
process.stdout.write(`listening on ${server.port}\n`)
