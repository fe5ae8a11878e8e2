import { z } from 'zod'
import { findStream } from '../../../analytics/clickhouse/stream-store.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { describeEnvironment, describeSettings } from '../../../gateway/settings-view.ts'
import { defineOperation } from '../../../http/operation.ts'
import type { RateLimit } from '../../../http/rate-limit.ts'
import { countNodes } from '../../../ledger/nodes.ts'
import { liveness } from '../../../ledger/recovery.ts'
import { build, runtime } from '../../../platform/build.ts'
import { isPostgresUrl } from '../../../platform/db/db.ts'
import { version } from '../../../platform/version.ts'
import { measureQueues } from './queues.ts'
import { readDatabaseBytes, sampleOverhead } from './store.ts'
import { listWarnings } from './warnings.ts'

/** Rate limit of an operation that counts rows, and is not for polling every second. */
const systemLimit: RateLimit = { name: 'the state of the installation', perMinute: 30, perDay: 20_000 }

const overheadWindowMs = 24 * 3_600_000

const clickHouseState = z.strictObject({
  is_connected: z.boolean().describe('Whether the last statement of this node succeeded.'),
  covered_from: z
    .string()
    .nullable()
    .describe('The first day that analytics read from ClickHouse; null: none yet.'),
  is_backfilled: z.boolean().describe('Whether it has all generations of the database.'),
  backfill_position: z
    .string()
    .nullable()
    .describe('Generations that ended later have been sent; null before the first.'),
  exported: z.int().describe('Generations that were sent, repeated ones included.'),
  exported_at: z.string().nullable(),
})

const replicaState = z.strictObject({
  is_used: z.boolean().describe('Whether it answers, and is behind by no more than it may be.'),
  lag_seconds: z
    .number()
    .nullable()
    .describe(
      'How far it is behind at most; up to two seconds of it are since the last measured write. Null: not known.',
    ),
  max_lag_seconds: z.number(),
  reads: z.int().describe('Reads of this node that it answered.'),
  fallbacks: z.int().describe('Reads of this node that the database answered instead.'),
})

const system = z
  .strictObject({
    version: z.string(),
    build: z
      .strictObject({
        commit: z.string().nullable(),
        date: z.iso.datetime().nullable().describe('The time of the commit. Null when run from source.'),
      })
      .describe('What the server was built from. Null: not known.'),
    runtime: z.strictObject({ name: z.string(), version: z.string(), platform: z.string() }),
    node: z.strictObject({
      id: z.string(),
      started_at: z.iso.datetime(),
      uptime_seconds: z.int(),
      memory_bytes: z.int().describe('Of the process, as the operating system counts it.'),
      open_streams: z.int().describe('Requests to providers in progress.'),
    }),
    nodes: z.int().describe('Processes that share the database.'),
    workers: z
      .array(
        z.strictObject({
          number: z.int(),
          state: z.enum(['starting', 'running', 'draining', 'stopped']),
          pid: z.int().nullable(),
          started_at: z.iso.datetime().nullable(),
          restarts: z.int().describe('How often it was started again, after a crash or on request.'),
        }),
      )
      .nullable()
      .describe('The processes of this server (`HEADGATE_WORKERS`). Null with one.'),
    shared_state: z
      .strictObject({
        kind: z
          .enum(['memory', 'valkey', 'workers'])
          .describe(
            'What rate limits, cooldowns and cached replies are shared by: nothing (`memory`), the server of `REDIS_URL` (`valkey`), or the memory that the workers of this server share (`workers`).',
          ),
        is_connected: z.boolean(),
      })
      .describe('What nodes share besides the database.'),
    storage: z.strictObject({
      mode: z.enum(['embedded', 'shared']).describe('`embedded`: SQLite; `shared`: PostgreSQL.'),
      database: z.enum(['sqlite', 'postgresql']),
      database_bytes: z.int(),
      journal_bytes: z
        .int()
        .nullable()
        .describe('Of the journal of the ledger: what SQLite does not have yet. Null with PostgreSQL.'),
      files: z.enum(['data_directory', 'bucket']),
      contents: z
        .enum(['database', 'bucket'])
        .describe('Where logged prompts and replies are, or are moved to.'),
    }),
    replica: replicaState
      .nullable()
      .describe('What analytics are read from. Null without DATABASE_REPLICA_URL.'),
    clickhouse: clickHouseState.nullable().describe('Null without CLICKHOUSE_URL.'),
    warnings: z.array(z.strictObject({ code: z.string(), message: z.string() })),
    overhead: z
      .strictObject({
        requests: z.int().describe('How many requests of the last 24 hours it was computed from.'),
        p50_ms: z.int(),
        p99_ms: z.int(),
      })
      .nullable()
      .describe(
        'From the arrival of a request to the request to its provider, for the newest 1,000 requests without those that failed over, or used plugins or tools. Null without any.',
      ),
    queues: z.array(
      z.strictObject({
        name: z.string(),
        description: z.string(),
        waiting: z.int(),
        is_capped: z.boolean().describe('Whether there are more: 10,000 are counted.'),
      }),
    ),
    settings: z.record(z.string(), z.unknown()).describe('headgate.yaml as loaded, with secrets masked.'),
    environment: z
      .record(z.string(), z.string().nullable())
      .describe('The environment variables that were read, with secrets masked. Null: not set.'),
    backup: z
      .strictObject({ parts: z.array(z.strictObject({ name: z.string(), location: z.string() })) })
      .describe('What a backup has to contain. The gateway does not know when one was made.'),
  })
  .meta({ id: 'System' })

const getSystem = defineOperation({
  id: 'getSystem',
  method: 'GET',
  path: '/system',
  tag: 'System',
  summary: 'Returns the state of the installation: version, storage, queues, overhead and configuration.',
  description: 'Secrets in the configuration are masked.',
  permission: 'system:read',
  rateLimit: systemLimit,
  noStore: true,
  response: z.strictObject({ data: system }),
  handle: async ({ gateway }) => ({ data: await describeSystem(gateway) }),
})

async function describeSystem(gateway: Gateway): Promise<z.input<typeof system>> {
  const { config, db, settings, clock, ledger, cluster } = gateway
  // Before the queries: some of them flush the journal.
  const journal_bytes = ledger.unflushedBytes
  const nodes = await countLiveNodes(gateway)
  const isShared = isPostgresUrl(config.databaseUrl)
  const since = new Date(clock.now() - overheadWindowMs).toISOString()
  return {
    version,
    build,
    runtime,
    node: describeNode(gateway),
    nodes,
    storage: {
      mode: isShared ? 'shared' : 'embedded',
      database: isShared ? 'postgresql' : 'sqlite',
      database_bytes: await readDatabaseBytes(db, config.databaseUrl),
      journal_bytes,
      files: settings.files.s3 ? 'bucket' : 'data_directory',
      contents: settings.records.contents,
    },
    workers: (await gateway.worker?.describeWorkers()) ?? null,
    shared_state: { kind: cluster.status.kind, is_connected: cluster.status.isConnected },
    replica: await describeReplica(gateway),
    clickhouse: await describeClickHouse(gateway),
    warnings: listWarnings(gateway, nodes),
    overhead: toQuantiles(await sampleOverhead(db, since)),
    queues: await measureQueues(gateway),
    settings: describeSettings(settings),
    environment: describeEnvironment(config),
    backup: { parts: listBackupParts(gateway) },
  }
}

async function describeReplica({ replica }: Gateway): Promise<z.input<typeof replicaState> | null> {
  if (!replica) return null
  return {
    is_used: await replica.measure(),
    lag_seconds: replica.lagMs === null ? null : replica.lagMs / 1000,
    max_lag_seconds: replica.maxLagMs / 1000,
    reads: replica.status.reads,
    fallbacks: replica.status.fallbacks,
  }
}

async function describeClickHouse({
  db,
  clickhouse,
}: Gateway): Promise<z.input<typeof clickHouseState> | null> {
  if (!clickhouse) return null
  const stream = await findStream(db)
  return {
    is_connected: clickhouse.status.isConnected,
    covered_from: stream?.covered_from ?? null,
    is_backfilled: stream?.is_backfilled === 1,
    backfill_position: stream?.backfill_position || null,
    exported: stream?.exported ?? 0,
    exported_at: stream?.exported_at ?? null,
  }
}

/** SQLite has one node, which sends no heartbeats. */
async function countLiveNodes({ db, clock, config }: Gateway): Promise<number> {
  if (!isPostgresUrl(config.databaseUrl)) return 1
  return Math.max(1, await countNodes(db, new Date(clock.now() - liveness.silentMs).toISOString()))
}

function describeNode({ node, upstreams: { exchanges } }: Gateway): z.input<typeof system>['node'] {
  return {
    id: node.id,
    started_at: new Date(performance.timeOrigin).toISOString(),
    uptime_seconds: Math.floor(performance.now() / 1000),
    memory_bytes: process.memoryUsage.rss(),
    open_streams: exchanges.size,
  }
}

/** `sorted` in ascending order. */
function toQuantiles(sorted: number[]): z.input<typeof system>['overhead'] {
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? 0
  return sorted.length === 0 ? null : { requests: sorted.length, p50_ms: at(0.5), p99_ms: at(0.99) }
}

function listBackupParts({ config, settings }: Gateway): { name: string; location: string }[] {
  const { s3 } = settings.files
  const isContents = settings.records.contents === 'bucket'
  return [
    {
      name: 'Database',
      location: isPostgresUrl(config.databaseUrl) ? 'PostgreSQL (DATABASE_URL)' : config.databaseUrl,
    },
    {
      name: isContents ? 'Files, prompts and replies' : 'Files',
      location: s3 ? `the bucket ${s3.bucket}` : `${config.dataDir}/files`,
    },
    {
      name: 'Secret key',
      location: config.secretKey === null ? `${config.dataDir}/secret.key` : 'HEADGATE_SECRET_KEY',
    },
  ]
}

export const systemOperations = [getSystem]
