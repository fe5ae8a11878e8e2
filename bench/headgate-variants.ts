// Headgate with one thing more than the plain candidate, to see what it costs.
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { SQL } from 'bun'
import type { RunningHeadgate } from './headgate.ts'
import { stopLater } from './processes.ts'

/** Filters for prompts and replies that find nothing in this traffic: the cost of reading it. */
export async function assignGuardrail({ call, keys }: RunningHeadgate): Promise<void> {
  const slugs = ['email', 'phone', 'credit-card', 'secrets']
  const { data } = await call('POST', '/guardrails', {
    name: 'bench',
    content_filter_builtins: slugs.map((slug) => ({ slug, action: 'redact', scope: 'both' })),
  })
  const { id } = data as { id: string }
  await call('POST', `/guardrails/${id}/assignments/keys`, { key_hashes: keys.map(({ hash }) => hash) })
}

const large = 1_000_000_000

/** One of every measure, and of every kind of window. */
const appliedLimits = [
  { measure: 'requests', window: 'second' },
  { measure: 'requests', window: 'minute' },
  { measure: 'requests', window: 'day', per: ['end_user'] },
  { measure: 'input_tokens', window: 'minute' },
  { measure: 'output_tokens', window: 'hour' },
  { measure: 'tokens', window: 'month', per: ['key', 'model'] },
  { measure: 'concurrent_requests' },
  { measure: 'usd', window: 'minute' },
  { measure: 'usd', window: 'month', match: { models: ['bench/*'] } },
  { measure: 'usd', window: 'day', per: ['provider'] },
]

/** Ten limits that count every request, and others that count none of them. */
export async function declareLimits({ call }: RunningHeadgate, others: number): Promise<void> {
  const bodies = [
    ...appliedLimits.map((limit) => ({ ...limit, amount: large })),
    ...Array.from({ length: others }, (_, n) => ({
      measure: n % 2 === 0 ? 'usd' : 'requests',
      window: 'day',
      amount: large,
      match: n % 3 === 0 ? { end_user: `user-${n}` } : { tags: [`project=project-${n}`] },
    })),
  ]
  const atOnce = 50
  for (let first = 0; first < bodies.length; first += atOnce)
    await Promise.all(
      bodies
        .slice(first, first + atOnce)
        .map((body, n) => call('POST', '/limits', { name: `Limit ${first + n}`, ...body })),
    )
}

/** Every generation becomes one call of a webhook of the mock. */
export async function addWebhook({ call }: RunningHeadgate, mockPort: number): Promise<void> {
  const config = { url: `http://127.0.0.1:${mockPort}/webhook` }
  await call('POST', '/observability/destinations', { type: 'webhook', name: 'bench', config })
}

const deliveryTimeoutMs = 10_000

/** Resolves when no delivery has arrived for a moment: what is left over would be counted for the next block. */
export async function waitForDeliveries(mockPort: number): Promise<void> {
  const deadline = performance.now() + deliveryTimeoutMs
  for (let before = -1; performance.now() < deadline; ) {
    const count = Number(await (await fetch(`http://127.0.0.1:${mockPort}/delivered`)).text())
    if (count === before) return
    before = count
    await Bun.sleep(300)
  }
}

export interface PrivateDatabase {
  url: string
  pid: number
  stop: () => Promise<void>
}

/** Null where PostgreSQL is not installed. */
export async function startDatabase(): Promise<PrivateDatabase | null> {
  const { startPostgres } = (await import(resolve('scripts/postgres.mjs'))) as {
    startPostgres: () => Promise<{ url: string; stop: () => void } | null>
  }
  const started = await startPostgres()
  if (!started) return null
  const stop = stopLater(started.stop)
  const admin = new SQL(started.url, { max: 1 })
  const [{ data_directory }] = await admin`show data_directory`
  await admin.close({ timeout: 1 })
  const pid = Number(readFileSync(join(data_directory, 'postmaster.pid'), 'utf8').split('\n')[0])
  return { url: started.url, pid, stop }
}
