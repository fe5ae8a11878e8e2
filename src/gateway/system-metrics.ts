import { statfs } from 'node:fs/promises'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { HealthRegistry } from '../catalog/health/health-registry.ts'
import { listWorkspaceNames } from '../identity/workspaces.ts'
import { sumHolds } from '../ledger/hold-totals.ts'
import { build } from '../platform/build.ts'
import { type Db, writeProbe } from '../platform/db/db.ts'
import { type Clock, isoNow, RemoteClock } from '../platform/time/clock.ts'
import { withDeadline } from '../platform/time/deadline.ts'
import { version } from '../platform/version.ts'
import type { ModelMetrics } from './model-metrics/model-metrics.ts'

/** A slower database is reported as down. */
const probeTimeoutMs = 2000
/** Metrics that are read together share a probe. */
const probeTtlMs = 500
const nanosPerUsd = 1e9

/** What is measured of a gateway. */
interface SystemParts {
  db: Db
  clock: Clock
  config: { dataDir: string }
  ledger: { unflushedBytes: number | null }
  routing: { health: HealthRegistry }
  upstreams: { exchanges: { size: number } }
  metrics: { models: ModelMetrics }
}

/** The jobs, checks and resources of this process, measured when metrics are read. */
export class SystemMetrics {
  readonly #registry: Registry
  readonly #jobs: Histogram
  readonly #jobFailures: Counter
  readonly #jobSuccess: Gauge
  readonly #checks: Gauge
  readonly #checkedAt: Gauge

  constructor(registry: Registry) {
    this.#registry = registry
    const registers = [registry]
    this.#jobs = new Histogram({
      name: 'headgate_job_duration_seconds',
      help: 'Duration of the runs of background jobs.',
      labelNames: ['task'],
      buckets: [0.001, 0.01, 0.1, 1, 10, 60],
      registers,
    })
    this.#jobFailures = new Counter({
      name: 'headgate_job_failures_total',
      help: 'Runs of background jobs that failed.',
      labelNames: ['task'],
      registers,
    })
    this.#jobSuccess = new Gauge({
      name: 'headgate_job_last_success_timestamp_seconds',
      help: 'The end of the last run of a background job that did not fail.',
      labelNames: ['task'],
      aggregator: 'max',
      registers,
    })
    this.#checks = new Gauge({
      name: 'headgate_check_sound',
      help: '1 if the last check of the ledger found nothing wrong, 0 if it did.',
      labelNames: ['check'],
      aggregator: 'min',
      registers,
    })
    this.#checkedAt = new Gauge({
      name: 'headgate_check_timestamp_seconds',
      help: 'The time of the last check.',
      labelNames: ['check'],
      aggregator: 'max',
      registers,
    })
  }

  recordJob(task: string, seconds: number, hasFailed: boolean): void {
    this.#jobs.observe({ task }, seconds)
    // Zero too, so that the first failure is an increase.
    this.#jobFailures.inc({ task }, hasFailed ? 1 : 0)
    if (!hasFailed) this.#jobSuccess.set({ task }, Date.now() / 1000)
  }

  recordCheck(check: 'ledger', isSound: boolean): void {
    this.#checks.set({ check }, isSound ? 1 : 0)
    this.#checkedAt.set({ check }, Date.now() / 1000)
  }

  register(gateway: SystemParts): void {
    this.#registerProcess(gateway)
    this.#registerDatabase(gateway)
    this.#registerHolds(gateway)
    this.#registerDisk(gateway)
    this.#registerRestrictions(gateway)
    this.#registerWorkspaces(gateway)
  }

  #registerProcess({ clock, ledger, upstreams }: SystemParts): void {
    this.#addGauge('headgate_build_info', 'The version and commit, as labels. Always 1.', 'max', (gauge) =>
      gauge.set({ version, commit: build.commit ?? 'unknown' }, 1),
    )
    this.#addGauge(
      'headgate_clock_seconds',
      'The clock of this machine, as a time of Unix.',
      'max',
      (gauge) => gauge.set(Date.now() / 1000),
    )
    if (clock instanceof RemoteClock)
      this.#addGauge(
        'headgate_clock_offset_seconds',
        'How far the clock of the database is ahead of that of this machine.',
        'average',
        (gauge) => gauge.set(clock.offsetMs / 1000),
      )
    this.#addGauge(
      'headgate_ledger_journal_bytes',
      'Bytes of the journal that are not in the database yet.',
      'sum',
      (gauge) => gauge.set(ledger.unflushedBytes ?? 0),
    )
    this.#addGauge(
      'headgate_upstream_requests_in_flight',
      'Requests to providers whose reply is not complete.',
      'sum',
      (gauge) => gauge.set(upstreams.exchanges.size),
    )
  }

  #registerDatabase({ db, clock }: SystemParts): void {
    /** Both gauges are read at the same time. */
    let recent: { at: number; seconds: Promise<number | null> } | null = null
    const probe = (): Promise<number | null> => {
      const now = performance.now()
      if (!recent || now - recent.at > probeTtlMs) recent = { at: now, seconds: probeDatabase(db, clock) }
      return recent.seconds
    }
    this.#addGauge('headgate_database_up', '1 if the database can be written.', 'min', async (gauge) =>
      gauge.set((await probe()) === null ? 0 : 1),
    )
    this.#addGauge(
      'headgate_database_probe_seconds',
      'Time that a small write to the database took. NaN if it failed or took longer than two seconds.',
      'max',
      async (gauge) => gauge.set((await probe()) ?? Number.NaN),
    )
  }

  /** A database that does not answer has no series. */
  #registerHolds({ db }: SystemParts): void {
    let recent: { at: number; totals: ReturnType<typeof readHolds> } | null = null
    const read = () => {
      const now = performance.now()
      if (!recent || now - recent.at > probeTtlMs) recent = { at: now, totals: readHolds(db) }
      return recent.totals
    }
    const help = 'Holds of requests in the database, of all nodes: requests in progress or interrupted.'
    this.#addGauge('headgate_ledger_holds', help, 'max', async (gauge) => {
      gauge.reset()
      const totals = await read()
      if (totals) gauge.set(totals.count)
    })
    this.#addGauge('headgate_ledger_held_usd', 'Amount of these holds.', 'max', async (gauge) => {
      gauge.reset()
      const totals = await read()
      if (totals) gauge.set(Number(totals.amountNanos) / nanosPerUsd)
    })
  }

  #registerDisk({ config: { dataDir } }: SystemParts): void {
    this.#addGauge(
      'headgate_data_disk_free_bytes',
      'Bytes that are free on the file system of the data directory.',
      'min',
      async (gauge) => {
        const { bavail, bsize } = await statfs(dataDir)
        gauge.set(bavail * bsize)
      },
    )
    this.#addGauge(
      'headgate_data_disk_size_bytes',
      'Size of the file system of the data directory.',
      'max',
      async (gauge) => {
        const { blocks, bsize } = await statfs(dataDir)
        gauge.set(blocks * bsize)
      },
    )
  }

  #registerRestrictions(gateway: SystemParts): void {
    this.#addGauge(
      'headgate_endpoint_restricted',
      '1 for each endpoint that is not used now, because of a cooldown or an ejection.',
      'max',
      (gauge) => {
        gauge.reset()
        const now = gateway.clock.now()
        for (const [id, { model, provider, endpoint }] of gateway.metrics.models.restricted) {
          const health = gateway.routing.health.find(id)
          const reason = health?.isCoolingDown(now) ? 'cooldown' : health?.isEjected(now) ? 'ejection' : null
          if (reason) gauge.set({ model, provider, endpoint, reason }, 1)
        }
      },
    )
  }

  /** Joins the ids of workspaces with their names, which may change. */
  #registerWorkspaces({ db, metrics }: SystemParts): void {
    this.#addGauge(
      'headgate_workspace_info',
      'The slug of each workspace that has series, as a label. Always 1.',
      'max',
      async (gauge) => {
        const names = await listWorkspaceNames(db, metrics.models.workspaceIds).catch(() => null)
        if (!names) return
        gauge.reset()
        for (const { id, slug, organization_id } of names)
          gauge.set({ workspace: id, slug, organization: organization_id }, 1)
      },
    )
  }

  #addGauge(
    name: string,
    help: string,
    aggregator: 'sum' | 'max' | 'min' | 'average',
    collect: (gauge: Gauge) => void | Promise<void>,
  ): void {
    new Gauge({
      name,
      help,
      labelNames: gaugeLabels[name] ?? [],
      aggregator,
      registers: [this.#registry],
      async collect() {
        await collect(this)
      },
    })
  }
}

/** Seconds that it took; null if it failed. Writes, because a full disk still serves queries. */
async function probeDatabase(db: Db, clock: Clock): Promise<number | null> {
  const startedAt = performance.now()
  try {
    await withDeadline(probeTimeoutMs, writeProbe(db, isoNow(clock)), () => new Error('late'))
    return (performance.now() - startedAt) / 1000
  } catch {
    return null
  }
}

async function readHolds(db: Db): Promise<Awaited<ReturnType<typeof sumHolds>> | null> {
  try {
    return await withDeadline(probeTimeoutMs, sumHolds(db), () => new Error('late'))
  } catch {
    return null
  }
}

const gaugeLabels: Readonly<Record<string, string[]>> = {
  headgate_build_info: ['version', 'commit'],
  headgate_endpoint_restricted: ['model', 'provider', 'endpoint', 'reason'],
  headgate_workspace_info: ['workspace', 'slug', 'organization'],
}
