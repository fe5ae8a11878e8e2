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
