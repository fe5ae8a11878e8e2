import { isPostgresUrl, recordProbe } from './db/db.ts'
import type { Gateway } from './gateway.ts'
import { isoNow } from './lib/clock.ts'
import { withDeadline } from './lib/deadline.ts'
import { openApiDocument } from './openapi.ts'
import type { Operation, Page } from './operation.ts'
import { referencePage } from './reference-page.ts'
import { version } from './version.ts'

/** A database that does not answer in this time is reported as away. */
const probeMs = 2000

/** Pages about the server itself, outside the API. */
export function systemPages(operations: Operation[]): Page[] {
  const document = openApiDocument(operations)
  const json = JSON.stringify(document)
  return [
    get('/healthz', async () => Response.json({ status: 'ok' })),
    get('/readyz', async (gateway) => {
      const { ok } = await probe(gateway)
      if (ok && gateway.ledger.downSince === null) return Response.json({ status: 'ready' })
      return Response.json({ status: 'not_ready' }, { status: 503, headers: { 'retry-after': '5' } })
    }),
    get('/status', async (gateway) => Response.json(await status(gateway))),
    get('/metrics', async (gateway) => {
      const { body, contentType } = await gateway.metrics.text()
      return new Response(body, { headers: { 'content-type': contentType } })
    }),
    get(
      '/openapi.json',
      async () =>
        new Response(json, {
          headers: { 'content-type': 'application/json', 'access-control-allow-origin': '*' },
        }),
    ),
    get('/docs', async () => referencePage(document)),
    get('/', async () => new Response(null, { status: 302, headers: { location: '/docs' } })),
  ]
}

function get(path: string, handle: Page['handle']): Page {
  return { method: 'GET', path, handle }
}

async function status(gateway: Gateway) {
  const { ok, latencyMs } = await probe(gateway)
  const isLedgerUp = gateway.ledger.downSince === null
  const kind = isPostgresUrl(gateway.config.databaseUrl) ? 'postgresql' : 'sqlite'
  return {
    status: ok && isLedgerUp ? 'ok' : 'degraded',
    version,
    dependencies: {
      database: { status: ok ? 'ok' : 'down', kind, latency_ms: latencyMs },
      ledger: {
        status: isLedgerUp ? 'ok' : 'down',
        waiting: gateway.ledger.waiting,
        when_down: 'requests to models are answered with 503; charges wait until they are written',
      },
    },
    catalogue: { snapshot: gateway.catalog.snapshotDate, models: gateway.catalog.models.length },
  }
}

interface Probe {
  ok: boolean
  latencyMs: number
}

/** One probe serves everybody who asks at the same time, and for a moment after. */
const probes = new WeakMap<Gateway, { at: number; probe: Promise<Probe> }>()
const freshMs = 500

function probe(gateway: Gateway): Promise<Probe> {
  const now = performance.now()
  const known = probes.get(gateway)
  if (known && now - known.at < freshMs) return known.probe
  const probe = probeDatabase(gateway, now)
  probes.set(gateway, { at: now, probe })
  return probe
}

/** Reads and writes: a full disk and a read-only database still answer a query. */
async function probeDatabase({ db, clock }: Gateway, startedAt: number): Promise<Probe> {
  const ok = await withDeadline(probeMs, recordProbe(db, isoNow(clock)), () => new Error('late')).then(
    () => true,
    () => false,
  )
  return { ok, latencyMs: Math.round((performance.now() - startedAt) * 100) / 100 }
}
