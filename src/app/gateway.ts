import type { Logger } from 'pino'
import type { RequestFollowers } from '../account/request-log/followers.ts'
import type { RoutingPlans } from '../account/request-log/plans.ts'
import type { RejectedRequests } from '../account/request-log/rejected.ts'
import type { ResponseQuota } from '../account/response-quota.ts'
import type { AuditQueue } from '../audit/queue.ts'
import type { RejectedCalls } from '../audit/rejected-calls.ts'
import type { SecretUses } from '../audit/secret-uses.ts'
import type { Benchmarks } from '../benchmarks/benchmarks.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { CatalogueOverrides } from '../catalogue/overrides.ts'
import type { TaskSampler } from '../classifier/task-sampler.ts'
import type { Config } from '../config.ts'
import type { ContainerService } from '../containers/service.ts'
import type { Db } from '../db/db.ts'
import type { StatementWriter } from '../db/statement-writer.ts'
import type { PdfReader } from '../filters/pdf-reader.ts'
import type { ContentScanner } from '../filters/scanner.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { ClusterNode } from '../ledger/recovery.ts'
import type { RollupThread } from '../ledger/rollups/rollup-thread.ts'
import type { BackgroundRuns } from '../lib/background-runs.ts'
import type { BoundedQueue } from '../lib/bounded-queue.ts'
import type { ByteCache } from '../lib/byte-cache.ts'
import type { Clock } from '../lib/clock.ts'
import type { CoarseTimer } from '../lib/coarse-timer.ts'
import type { ConcurrencyLimiter } from '../lib/concurrency-limiter.ts'
import type { Vault } from '../lib/crypto.ts'
import type { TxtResolver } from '../lib/dns-txt.ts'
import type { JsonRepairer } from '../lib/json-repairer.ts'
import type { OfficeReader } from '../lib/office-reader.ts'
import type { OriginReachability } from '../lib/origin-reachability.ts'
import type { MinuteRateLimiter } from '../lib/rate-limiter.ts'
import type { TaskPool } from '../lib/task-pool.ts'
import type { TimeSlicer } from '../lib/time-slicer.ts'
import type { WakeSignal } from '../lib/wake-signal.ts'
import type { Mailer } from '../mail/mailer.ts'
import type { JwksCache } from '../oidc/jwks-cache.ts'
import type { OidcProviders } from '../oidc/providers.ts'
import type { RequestSigner } from '../provider-auth/request-signer.ts'
import type { Routing } from '../routing/routing.ts'
import type { HtmlReader } from '../web/html-reader.ts'
import type { AccessTokens } from './access-tokens.ts'
import type { AccountCache } from './account-cache.ts'
import type { Metrics } from './metrics.ts'
import type { Settings } from './settings.ts'
import type { SignInLimiter } from './sign-in-limiter.ts'
import type { Tracer } from './tracing/tracer.ts'

/**
 * The components of a running process, passed as the first argument. `settings`, `overrides` and `catalogue` are
 * replaced when headgate.yaml is reloaded or an operator changes the catalogue.
 */
export interface Gateway {
  readonly config: Config
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly vault: Vault
  readonly metrics: Metrics
  /** Null unless the operator exports traces. */
  readonly tracer: Tracer | null
  readonly accounts: AccountCache
  /** Issued to workloads in exchange for the tokens of their issuers. */
  readonly accessTokens: AccessTokens
  readonly ledger: Ledger
  /** For what is stored outside a settlement, by many requests at once. */
  readonly statementWriter: StatementWriter
  /** Content filters. */
  readonly scanner: ContentScanner
  readonly pdfReader: PdfReader
  /** Pages of the web. */
  readonly htmlReader: HtmlReader
  readonly jsonRepairer: JsonRepairer
  readonly officeReader: OfficeReader
  /** This process among those that share the database. */
  readonly node: ClusterNode
  readonly rollUps: RollupThread
  readonly timer: CoarseTimer
  /** Shared by all long synchronous work. */
  readonly timeSlicer: TimeSlicer
  readonly rateLimiter: MinuteRateLimiter
  readonly taskSampler: TaskSampler
  readonly routing: Routing
  /** Scores of models, imported or measured. */
  readonly benchmarks: Benchmarks
  readonly origins: OriginReachability
  readonly requestSigner: RequestSigner
  /** Single sign-on of members. */
  readonly oidcProviders: OidcProviders
  /** The public keys of identity providers and of the issuers of workloads. */
  readonly jwks: JwksCache
  /** For the verification of domains. */
  readonly resolveTxt: TxtResolver
  /** Bounds the replies that are drained after their client disconnected. */
  readonly drainLimiter: ConcurrencyLimiter
  /** Upstream exchanges in flight, aborted at shutdown. */
  readonly exchanges: Set<{ stop(): void }>
  /** The response cache of this node. */
  readonly responseCache: ByteCache
  /** Background responses in progress. */
  readonly backgroundRuns: BackgroundRuns
  /** Polls and downloads of video jobs, and their webhooks. */
  readonly videoTasks: TaskPool
  /** Deliveries to destinations, and what starts them when there is a new event. */
  readonly deliveryTasks: TaskPool
  readonly deliverySignal: WakeSignal
  /** Something waits to be written to the request log. */
  readonly requestLogSignal: WakeSignal
  readonly mailer: Mailer
  readonly signInLimiter: SignInLimiter
  /** Bounds the memory that passwords take to verify. */
  readonly passwordQueue: BoundedQueue
  /** Events of the audit log that have no transaction of their own. */
  readonly auditQueue: AuditQueue
  readonly rejectedCalls: RejectedCalls
  readonly secretUses: SecretUses
  /** Requests to models that were rejected. */
  readonly rejectedRequests: RejectedRequests
  /** Why requests were routed as they were. */
  readonly routingPlans: RoutingPlans
  /** Who reads the list of requests as it grows. */
  readonly requestFollowers: RequestFollowers
  /** Bounds the stored responses of each workspace. */
  readonly responseQuota: ResponseQuota
  /** Where models run shell commands; null while the operator has not enabled it. */
  containers: ContainerService | null
  /** The open connections of the server; null while it does not listen. */
  connections: { requestIP(request: Request): { address: string } | null } | null
  /** A stop signal has arrived: the server accepts requests for a while, so that balancers notice. */
  isDraining: boolean
  settings: Settings
  overrides: CatalogueOverrides
  catalogue: Catalogue
}
