import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { ClickHouseStatus } from '../analytics/clickhouse/clickhouse-store.ts'
import type { ClusterStatus } from '../cluster/cluster.ts'
import type { Charge } from '../ledger/charge.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { ReadReplica } from '../platform/db/read-replica.ts'
import { usdFromNanos } from '../platform/money/money.ts'
import type { MetricData } from './exposition/metric-data.ts'
import { contentTypes } from './exposition/negotiate.ts'
import { renderText } from './exposition/text.ts'
import type { MetricsExporter } from './metrics-export/metrics-exporter.ts'
import { ModelMetrics } from './model-metrics/model-metrics.ts'
import { PolicyMetrics } from './policy-metrics.ts'
import { createProcessMetrics, processAggregators } from './process-metrics.ts'
import { RateMetrics } from './rate-metrics.ts'
import { RequestCounts } from './request-counts.ts'
import { SystemMetrics } from './system-metrics.ts'

/** The events that wait for the destinations of one type. */
interface DeliveryQueue {
  depth: number
  oldestSeconds: number
}

let processMetrics: Registry | null = null

const nanosPerUsd = 1e9

/** How a lookup in the response cache ended: for an identical request, and after a miss for a similar one. */
type CacheLookup = 'hit' | 'miss' | 'semantic_hit' | 'semantic_miss' | 'semantic_skipped'

/** Labels have few values, or their number is bounded (`ModelMetrics`), so that clients cannot increase it without end. */
export class Metrics {
  readonly #registry = new Registry()
  /** Every HTTP request. */
  readonly http = new RequestCounts()
  /** Requests to models. */
  readonly models = new ModelMetrics()

  readonly #computedCost = new Counter({
    name: 'headgate_cost_computed_usd_total',
    help: 'Cost of replies at the catalog prices, where the provider reported a cost too.',
    labelNames: ['provider'],
    registers: [this.#registry],
  })
  readonly #reportedCost = new Counter({
    name: 'headgate_cost_reported_usd_total',
    help: 'Cost of the same replies as reported by their providers.',
    labelNames: ['provider'],
    registers: [this.#registry],
  })
  readonly #flaggedCharges = new Counter({
    name: 'headgate_charges_flagged_total',
    help: 'Charges capped at the hold, or computed from estimated usage.',
    labelNames: ['provider', 'flag'],
    registers: [this.#registry],
  })

  readonly #hedges = new Counter({
    name: 'headgate_hedges_total',
    help: 'Requests whose first endpoint was slow: the second endpoint won, lost, failed like the first, or was not tried because of `limits.hedged_share` (capped) or a spending limit (refused).',
    labelNames: ['outcome'],
    registers: [this.#registry],
  })
  readonly #interrupted = new Counter({
    name: 'headgate_interrupted_requests_total',
    help: 'Requests that the end of a process interrupted: settled for what they had produced, or unrecovered and recorded without a charge.',
    labelNames: ['outcome'],
    registers: [this.#registry],
  })

  readonly #cacheLookups = new Counter({
    name: 'headgate_response_cache_requests_total',
    help: 'Lookups in the response cache, by hit or miss, and those by similarity after a miss.',
    labelNames: ['status'],
    registers: [this.#registry],
  })

  readonly #routingRules = new Counter({
    name: 'headgate_routing_rules_total',
    help: 'Requests that a routing rule applied to or rejected, and conditions that could not be evaluated (failed).',
    labelNames: ['outcome'],
    registers: [this.#registry],
  })

  readonly #deliveries = new Counter({
    name: 'headgate_delivery_events_total',
    help: 'Events of destinations that were delivered, rejected (failed) or dropped, by type.',
    labelNames: ['type', 'outcome'],
    registers: [this.#registry],
  })
  readonly #deliveryDuration = new Histogram({
    name: 'headgate_delivery_request_seconds',
    help: 'Duration of requests to destinations, by type.',
    labelNames: ['type'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60],
    registers: [this.#registry],
  })
  readonly #deliveryDepth = new Gauge({
    name: 'headgate_delivery_queue_events',
    help: 'Events that wait for destinations, by type.',
    labelNames: ['type'],
    // Each process counts those of all.
    aggregator: 'max',
    registers: [this.#registry],
  })
  readonly #deliveryAge = new Gauge({
    name: 'headgate_delivery_queue_oldest_seconds',
    help: 'Age of the oldest event that waits for a destination, by type.',
    labelNames: ['type'],
    aggregator: 'max',
    registers: [this.#registry],
  })

  /** Null unless metrics are sent to a receiver. */
  exporter: MetricsExporter | null = null

  readonly rates = new RateMetrics(this.#registry)
  readonly policies = new PolicyMetrics(this.#registry)
  readonly system = new SystemMetrics(this.#registry)

  constructor() {
    // From the first scrape on, so that the first one is an increase.
    for (const outcome of ['settled', 'unrecovered']) this.#interrupted.inc({ outcome }, 0)
  }

  recordRoutingRule(outcome: 'applied' | 'rejected' | 'failed'): void {
    this.#routingRules.inc({ outcome })
  }

  /** The runtime counts them: nothing is added to a request. */
  registerConnections(readConnections: () => { readonly pendingRequests: number } | null): void {
    this.#registerGauge(
      'headgate_http_requests_in_flight',
      'HTTP requests whose response is not complete, with this one.',
      () => readConnections()?.pendingRequests ?? 0,
    )
  }

  registerClickHouse(status: ClickHouseStatus): void {
    this.#registerGauge(
      'headgate_clickhouse_up',
      '1 if ClickHouse answers; otherwise analytics are read from the database, and generations wait there.',
      () => (status.isConnected ? 1 : 0),
    )
    const counts = {
      queries: 'Queries of analytics that were sent to ClickHouse.',
      fallbacks: 'Queries of analytics that the database answered because ClickHouse could not.',
    }
    this.#registerCounts('headgate_clickhouse', counts, status)
  }

  /** Measured when metrics are read. */
  registerReplica(replica: Pick<ReadReplica, 'measure' | 'lagMs' | 'status'>): void {
    const registers = [this.#registry]
    new Gauge({
      name: 'headgate_replica_up',
      help: '1 if the replica of the database answers and is close enough; otherwise analytics are read from the database.',
      aggregator: 'min',
      registers,
      async collect() {
        this.set((await replica.measure()) ? 1 : 0)
      },
    })
    new Gauge({
      name: 'headgate_replica_lag_seconds',
      help: 'How far the replica is behind at most, with the two seconds between the writes that show it. NaN if it does not answer.',
      aggregator: 'max',
      registers,
      async collect() {
        await replica.measure()
        this.set((replica.lagMs ?? Number.NaN) / 1000)
      },
    })
    const counts = {
      reads: 'Reads of analytics that the replica of the database answered.',
      fallbacks: 'Reads of analytics that the database answered because its replica could not.',
    }
    this.#registerCounts('headgate_replica', counts, replica.status)
  }

  registerLedger(ledger: Pick<Ledger, 'waiting' | 'downSince' | 'leases'>): void {
    this.#registerGauge(
      'headgate_ledger_leases',
      'Leases of this node on the meters of keys. SQLite needs none.',
      () => ledger.leases.count,
    )
    this.#registerGauge(
      'headgate_ledger_leased_usd',
      'Amount that these leases reserve for requests to come.',
      () => Number(ledger.leases.free) / nanosPerUsd,
    )
    this.#registerGauge(
      'headgate_ledger_waiting',
      'Holds and charges waiting to be written.',
      () => ledger.waiting,
    )
    new Gauge({
      name: 'headgate_ledger_up',
      help: '1 if the ledger can be written; otherwise inference requests fail with 503.',
      aggregator: 'min',
      registers: [this.#registry],
      collect() {
        this.set(ledger.downSince === null ? 1 : 0)
      },
    })
  }

  #registerGauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read())
      },
    })
  }

  /** Nothing without REDIS_URL. */
  registerCluster(status: ClusterStatus): void {
    if (status.kind !== 'valkey') return
    const registers = [this.#registry]
    new Gauge({
      name: 'headgate_cluster_up',
      help: '1 if the server of REDIS_URL answers; otherwise each node admits its share of every rate limit.',
      aggregator: 'min',
      registers,
      collect() {
        this.set(status.isConnected ? 1 : 0)
      },
    })
    const counts = {
      operations: 'Operations that were sent to the server of REDIS_URL.',
      timeouts: 'Operations that took longer than REDIS_TIMEOUT_MS.',
      errors: 'Operations that failed for another reason.',
      fallbacks: 'Operations that were done without the server of REDIS_URL.',
    }
    this.#registerCounts('headgate_cluster', counts, status)
  }

  /** Counters that a component keeps itself. */
  #registerCounts<Name extends string>(
    prefix: string,
    helps: Readonly<Record<Name, string>>,
    counts: Readonly<Record<NoInfer<Name>, number>>,
  ): void {
    for (const name of Object.keys(helps) as Name[])
      new Counter({
        name: `${prefix}_${name}_total`,
        help: helps[name],
        registers: [this.#registry],
        collect() {
          this.reset()
          this.inc(counts[name])
        },
      })
  }

  registerCache(cache: { readonly size: number; readonly count: number }): void {
    this.#registerGauge(
      'headgate_response_cache_bytes',
      'Size of the response cache in bytes.',
      () => cache.size,
    )
    this.#registerGauge(
      'headgate_response_cache_entries',
      'Entries in the response cache.',
      () => cache.count,
    )
  }

  countDeliveries(type: string, outcome: 'delivered' | 'failed' | 'dropped', count: number): void {
    if (count > 0) this.#deliveries.inc({ type, outcome }, count)
  }

  recordDeliveryRequest(type: string, seconds: number): void {
    this.#deliveryDuration.observe({ type }, seconds)
  }

  #deliveryQueues: ReadonlyMap<string, DeliveryQueue> = new Map()

  /** Queues of a few seconds ago, by type. */
  get deliveryQueues(): ReadonlyMap<string, DeliveryQueue> {
    return this.#deliveryQueues
  }

  /** Sets the queues of all destinations of the installation, by type. */
  setDeliveryQueues(queues: ReadonlyMap<string, DeliveryQueue>): void {
    this.#deliveryQueues = queues
    this.#deliveryDepth.reset()
    this.#deliveryAge.reset()
    for (const [type, { depth, oldestSeconds }] of queues) {
      this.#deliveryDepth.set({ type }, depth)
      this.#deliveryAge.set({ type }, oldestSeconds)
    }
  }

  registerTraces(exporter: { readonly exportedCount: number; readonly droppedCount: number }): void {
    new Counter({
      name: 'headgate_trace_spans_total',
      help: 'Spans of own traces, by result: exported, or dropped because the queue was full or the export failed.',
      labelNames: ['result'],
      registers: [this.#registry],
      collect() {
        this.reset()
        this.inc({ result: 'exported' }, exporter.exportedCount)
        this.inc({ result: 'dropped' }, exporter.droppedCount)
      },
    })
  }

  recordInterrupted(outcome: 'settled' | 'unrecovered', count: number): void {
    this.#interrupted.inc({ outcome }, count)
  }

  recordCacheLookup(status: CacheLookup): void {
    this.#cacheLookups.inc({ status })
  }

  recordHedge(outcome: 'won' | 'lost' | 'failed' | 'capped' | 'refused'): void {
    this.#hedges.inc({ outcome })
  }

  recordCharge(provider: string, { flag, listPrice, usage }: Charge): void {
    if (flag) this.#flaggedCharges.inc({ provider, flag })
    if (usage.reportedCost === null || !(usage.reportedCost >= 0)) return
    this.#computedCost.inc({ provider }, usdFromNanos(listPrice.total))
    this.#reportedCost.inc({ provider }, usage.reportedCost)
  }

  /** In the text format of Prometheus. */
  async render(): Promise<{ body: string; contentType: string }> {
    return { body: await renderText(await this.collect()), contentType: contentTypes.text }
  }

  /** As data, which can be combined with those of other workers: each gauge says how. */
  async collect(): Promise<MetricData[]> {
    const metrics = (await this.#merge().getMetricsAsJSON()) as unknown as MetricData[]
    for (const metric of metrics) metric.aggregator = processAggregators[metric.name] ?? metric.aggregator
    return [...this.http.collect(), ...(await this.models.collect()), ...metrics]
  }

  #merge(): Registry {
    processMetrics ??= createProcessMetrics()
    return Registry.merge([this.#registry, processMetrics])
  }
}
