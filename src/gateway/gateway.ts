import type { Logger } from 'pino'
import type { TaskSampler } from '../analytics/classifier/task-sampler.ts'
import type { ClickHouseStore } from '../analytics/clickhouse/clickhouse-store.ts'
import type { RequestFollowers } from '../analytics/request-log/followers.ts'
import type { RoutingPlans } from '../analytics/request-log/plans.ts'
import type { RejectedRequests } from '../analytics/request-log/rejected.ts'
import type { RollupThread } from '../analytics/rollups/rollup-thread.ts'
import type { Benchmarks } from '../catalog/benchmarks/benchmarks.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { DiscoveredModels } from '../catalog/discovery/lists.ts'
import type { HealthHistory } from '../catalog/health/health-history.ts'
import type { CatalogOverrides } from '../catalog/overrides.ts'
import type { RequestSigner } from '../catalog/provider-auth/request-signer.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { Config } from '../config.ts'
import type { ContainerService } from '../containers/service.ts'
import type { AuditQueue } from '../governance/audit/queue.ts'
import type { RejectedCalls } from '../governance/audit/rejected-calls.ts'
import type { SecretUses } from '../governance/audit/secret-uses.ts'
import type { PdfReader } from '../governance/filters/pdf-reader.ts'
import type { ContentScanner } from '../governance/filters/scanner.ts'
import type { LimitCounts } from '../governance/limits/counts.ts'
import type { AccessTokens } from '../identity/access-tokens.ts'
import type { JwksCache } from '../identity/oidc/jwks-cache.ts'
import type { OidcProviders } from '../identity/oidc/providers.ts'
import type { SignInLimiter } from '../identity/sign-in-limiter.ts'
import type { CheckRunner } from '../inference/guard/checks/runner.ts'
import type { ProviderRates } from '../inference/rates/provider-rates.ts'
import type { Routing } from '../inference/routing/routing.ts'
import type { MirrorQueue } from '../inference/shadow/mirror-queue.ts'
import type { HedgeBudget } from '../inference/upstream/hedge-budget.ts'
import type { PromptHistory } from '../inference/upstream/prompt-history.ts'
import type { HtmlReader } from '../inference/web/html-reader.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { ClusterNode } from '../ledger/recovery.ts'
import type { BackgroundRuns } from '../platform/concurrency/background-runs.ts'
import type { BoundedQueue } from '../platform/concurrency/bounded-queue.ts'
import type { ByteCache } from '../platform/concurrency/byte-cache.ts'
import type { ConcurrencyLimiter } from '../platform/concurrency/concurrency-limiter.ts'
import type { RateLimiter } from '../platform/concurrency/rate-limiter.ts'
import type { TaskPool } from '../platform/concurrency/task-pool.ts'
import type { WakeSignal } from '../platform/concurrency/wake-signal.ts'
import type { Vault } from '../platform/crypto/crypto.ts'
import type { Db } from '../platform/db/db.ts'
import type { ReadReplica } from '../platform/db/read-replica.ts'
import type { StatementWriter } from '../platform/db/statement-writer.ts'
import type { TxtResolver } from '../platform/http/dns-txt.ts'
import type { OriginReachability } from '../platform/http/origin-reachability.ts'
import type { JsonRepairer } from '../platform/json/json-repairer.ts'
import type { Mailer } from '../platform/mail/mailer.ts'
import type { OfficeReader } from '../platform/media/office-reader.ts'
import type { Clock } from '../platform/time/clock.ts'
import type { CoarseTimer } from '../platform/time/coarse-timer.ts'
import type { TimeSlicer } from '../platform/time/time-slicer.ts'
import type { Tracer } from '../platform/tracing/tracer.ts'
import type { ResponseQuota } from '../storage/response-quota.ts'
import type { AccountCache } from './account-cache.ts'
import type { Metrics } from './metrics.ts'
import type { Settings } from './settings.ts'
import type { WorkerLink } from './worker-link.ts'

/**
 * The components of a running process, passed as the first argument. `settings`, `overrides` and `catalogue` are
 * replaced when headgate.yaml is reloaded or an operator changes the catalog.
 */
export interface Gateway {
  readonly config: Config
  readonly db: Db
  /** A replica of the database, for analytics; null without DATABASE_REPLICA_URL. */
  readonly replica: ReadReplica | null
  readonly clock: Clock
  readonly log: Logger
  readonly vault: Vault
  readonly metrics: Metrics
  /** Null unless the operator exports traces. */
  readonly tracer: Tracer | null
  readonly accounts: AccountCache
  readonly identity: IdentityServices
  readonly ledger: Ledger
  /** Writes statements outside a settlement, for many requests at once. */
  readonly statementWriter: StatementWriter
  /** Content filters. */
  readonly scanner: ContentScanner
  /** The services that guardrails send texts to. */
  readonly checks: CheckRunner
  readonly readers: DocumentReaders
  readonly jsonRepairer: JsonRepairer
  /** This process among those that share the database. */
  readonly node: ClusterNode
  /** Null unless this process is one of several workers that serve a port. */
  readonly worker: WorkerLink | null
  /** What nodes share besides the database. */
  readonly cluster: Cluster
  readonly rollUps: RollupThread
  /** Where analytics are read from besides the database; null without CLICKHOUSE_URL. */
  readonly clickhouse: ClickHouseStore | null
  readonly timer: CoarseTimer
  /** Shared by all long synchronous work. */
  readonly timeSlicer: TimeSlicer
  readonly rateLimiter: RateLimiter
  /** What requests have used of declared limits, besides dollars. */
  readonly limitCounts: LimitCounts
  readonly taskSampler: TaskSampler
  readonly routing: Routing
  readonly healthHistory: HealthHistory
  /** Scores of models, imported or measured. */
  readonly benchmarks: Benchmarks
  /** What providers list themselves. */
  readonly discovered: DiscoveredModels
  readonly upstreams: UpstreamServices
  /** The response cache of this node. */
  readonly responseCache: ByteCache
  /** Decrypted vectors of the semantic cache. */
  readonly semanticVectors: ByteCache
  /** Background responses in progress. */
  readonly backgroundRuns: BackgroundRuns
  /** Requests that are sent again for shadows. */
  readonly mirrors: MirrorQueue
  /** Polls and downloads of video jobs, and their webhooks. */
  readonly videoTasks: TaskPool
  readonly delivery: DeliveryServices
  readonly mailer: Mailer
  readonly audit: AuditRecorders
  readonly requestLog: RequestLog
  /** Bounds the stored responses of each workspace. */
  readonly responseQuota: ResponseQuota
  /** Runs the shell commands of models; null while the operator has not enabled it. */
  containers: ContainerService | null
  /** The open connections of the server; null while it does not listen. */
  connections: {
    requestIP(request: Request): { address: string } | null
    /** Requests whose response is not complete. */
    readonly pendingRequests: number
  } | null
  /** A stop signal has arrived: the server accepts requests for a while, so that balancers notice. */
  isDraining: boolean
  settings: Settings
  overrides: CatalogOverrides
  catalog: Catalog
}

/** The threads that read documents. */
export interface DocumentReaders {
  readonly pdf: PdfReader
  /** Pages of the web. */
  readonly html: HtmlReader
  readonly office: OfficeReader
}

/** What requests to providers share. */
export interface UpstreamServices {
  readonly origins: OriginReachability
  readonly signer: RequestSigner
  /** Bounds the replies that are drained after their client disconnected. */
  readonly drainLimiter: ConcurrencyLimiter
  /** Bounds the requests that are sent to two candidates. */
  readonly hedges: HedgeBudget
  /** The rates of providers, and the requests that wait for them. */
  readonly rates: ProviderRates
  /** Which beginnings of prompts were sent lately. */
  readonly promptHistory: PromptHistory
  /** Exchanges in flight, aborted at shutdown. */
  readonly exchanges: Set<{ stop(): void }>
}

/** What people and workloads sign in with. */
export interface IdentityServices {
  /** Issued to workloads in exchange for the tokens of their issuers. */
  readonly accessTokens: AccessTokens
  /** Single sign-on of members. */
  readonly oidcProviders: OidcProviders
  /** The public keys of identity providers and of the issuers of workloads. */
  readonly jwks: JwksCache
  /** Resolves TXT records to verify domains. */
  readonly resolveTxt: TxtResolver
  readonly signInLimiter: SignInLimiter
  /** Bounds the memory that passwords take to verify. */
  readonly passwordQueue: BoundedQueue
}

/** Deliveries to destinations, and the signal that starts them when there is a new event. */
export interface DeliveryServices {
  readonly tasks: TaskPool
  readonly signal: WakeSignal
}

/** Recorders of audit events that have no transaction of their own. */
export interface AuditRecorders {
  readonly queue: AuditQueue
  readonly rejectedCalls: RejectedCalls
  readonly secretUses: SecretUses
}

/** The recorders of requests besides their settlement. */
export interface RequestLog {
  /** Wakes the writer. */
  readonly signal: WakeSignal
  /** Requests to models that were rejected. */
  readonly rejected: RejectedRequests
  /** Why requests were routed as they were. */
  readonly plans: RoutingPlans
  /** Readers who follow the list of requests as it grows. */
  readonly followers: RequestFollowers
}
