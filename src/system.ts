import { sql } from 'kysely'
import type { Gateway } from './gateway.ts'
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
      return Response.json({ status: ok ? 'ready' : 'not_ready' }, { status: ok ? 200 : 503 })
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
  const database = await probe(gateway)
  return {
    status: database.ok && gateway.ledger.downSince === null ? 'ok' : 'degraded',
    version,
    dependencies: {
      database: { status: database.ok ? 'ok' : 'down', kind: database.kind, latency_ms: database.latencyMs },
      ledger: {
        status: gateway.ledger.downSince === null ? 'ok' : 'down',
        waiting: gateway.ledger.waiting,
        when_down: 'requests to models are answered with 503; charges wait until they are written',
      },
    },
    catalogue: { snapshot: gateway.catalog.snapshotDate, models: gateway.catalog.models.length },
  }
}

async function probe(gateway: Gateway) {
  const kind = /^postgres/.test(gateway.config.databaseUrl) ? 'postgresql' : 'sqlite'
  const startedAt = performance.now()
  const asking = sql`select 1`.execute(gateway.db)
  const ok = await withDeadline(probeMs, asking, () => new Error('late')).then(
    () => true,
    () => false,
  )
  return { ok, kind, latencyMs: Math.round((performance.now() - startedAt) * 100) / 100 }
}
