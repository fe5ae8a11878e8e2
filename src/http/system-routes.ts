import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { renderMetrics } from '../gateway/exposition/render.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Readiness } from '../gateway/worker-protocol.ts'
import { build, runtime } from '../platform/build.ts'
import { isPostgresUrl, writeProbe } from '../platform/db/db.ts'
import { acceptsEncoding } from '../platform/http/accept-encoding.ts'
import { isoNow } from '../platform/time/clock.ts'
import { withDeadline } from '../platform/time/deadline.ts'
import { version } from '../platform/version.ts'
import type { RawRoute } from './operation.ts'

/** Compresses on another thread. */
const compress = promisify(gzip)

/** A slower database is reported as down. */
const probeTimeoutMs = 2000

/** The file that `npm run openapi` wrote: to build it from the operations would delay every start. */
const openApiFile = Bun.file(new URL('../../openapi.json', import.meta.url))
/** Compressed when it is first requested so: it is ten times smaller. */
let compressedOpenApi: Promise<Buffer> | undefined

/** Routes about the server, outside the API. */
export function buildSystemRoutes(): RawRoute[] {
  return [
    getRoute('/healthz', async () => Response.json({ status: 'ok' })),
    getRoute('/readyz', async (gateway) => {
      const readiness = await readReadiness(gateway)
      return readiness === 'ready' ? Response.json({ status: 'ready' }) : refuseReadiness(readiness)
    }),
    getRoute('/status', async (gateway) => Response.json(await buildStatus(gateway))),
    getRoute('/metrics', async (gateway, request) => {
      const metrics = await (gateway.worker?.readMetrics() ?? gateway.metrics.collect())
      return renderMetrics(metrics, request.headers.get('accept'))
    }),
    getRoute('/openapi.json', async (_, request) => sendOpenApi(request)),
  ]
}

/** Of this process. */
export async function isReady(gateway: Gateway): Promise<boolean> {
  const { ok } = await probeCached(gateway)
  return ok && gateway.ledger.downSince === null
}

/** Of the server: of all its workers, whichever answers. */
async function readReadiness(gateway: Gateway): Promise<Readiness> {
  if (gateway.worker) return gateway.worker.readReadiness().catch(() => 'not_ready' as const)
  if (gateway.isDraining) return 'draining'
  return (await isReady(gateway)) ? 'ready' : 'not_ready'
}

function refuseReadiness(status: string): Response {
  return Response.json({ status }, { status: 503, headers: { 'retry-after': '5' } })
}

function getRoute(path: string, handle: RawRoute['handle']): RawRoute {
  return { method: 'GET', path, handle }
}

async function sendOpenApi(request: Request): Promise<Response> {
  const headers = {
    'content-type': 'application/json',
    'access-control-allow-origin': '*',
    vary: 'accept-encoding',
  }
  if (!acceptsEncoding(request.headers.get('accept-encoding') ?? '', 'gzip'))
    return new Response(openApiFile, { headers })
  compressedOpenApi ??= openApiFile.bytes().then((bytes) => compress(bytes))
  return new Response(new Uint8Array(await compressedOpenApi), {
    headers: { ...headers, 'content-encoding': 'gzip' },
  })
}

async function buildStatus(gateway: Gateway) {
  const { ok, latencyMs } = await probeCached(gateway)
  const isLedgerUp = gateway.ledger.downSince === null
  const workers = (await gateway.worker?.describeWorkers().catch(() => null)) ?? null
  const kind = isPostgresUrl(gateway.config.databaseUrl) ? 'postgresql' : 'sqlite'
  return {
    status: ok && isLedgerUp && !workers?.some(({ state }) => state === 'stopped') ? 'ok' : 'degraded',
    version,
    ...(workers && { workers: workers.map(({ number, state, restarts }) => ({ number, state, restarts })) }),
    build,
    runtime,
    dependencies: {
      database: { status: ok ? 'ok' : 'down', kind, latency_ms: latencyMs },
      ledger: {
        status: isLedgerUp ? 'ok' : 'down',
        waiting: gateway.ledger.waiting,
        when_down: 'inference requests fail with 503; charges wait until they can be written',
      },
    },
    catalog: { snapshot: gateway.catalog.snapshotDate, models: gateway.catalog.models.length },
  }
}

interface ProbeResult {
  ok: boolean
  latencyMs: number
}

/** Concurrent and recent status requests share one probe. */
const recentProbes = new WeakMap<Gateway, { at: number; probe: Promise<ProbeResult> }>()
const probeTtlMs = 500

function probeCached(gateway: Gateway): Promise<ProbeResult> {
  const now = performance.now()
  const recent = recentProbes.get(gateway)
  if (recent && now - recent.at < probeTtlMs) return recent.probe
  const probe = probeDatabase(gateway, now)
  recentProbes.set(gateway, { at: now, probe })
  return probe
}

/** Writes, because a full disk and a read-only database still serve queries. */
async function probeDatabase({ db, clock }: Gateway, startedAt: number): Promise<ProbeResult> {
  const ok = await withDeadline(probeTimeoutMs, writeProbe(db, isoNow(clock)), () => new Error('late')).then(
    () => true,
    () => false,
  )
  return { ok, latencyMs: Math.round((performance.now() - startedAt) * 100) / 100 }
}
