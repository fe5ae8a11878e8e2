import type { Caller } from '../../access/caller.ts'
import type { ResolvedModel } from '../../catalog/lookup.ts'
import type { ExportTargets } from '../../delivery/outbox.ts'
import type { ModelCall } from '../../formats/call/call.ts'
import type { PlainPrompt } from '../../formats/call/plain-prompt.ts'
import type { RequestSize } from '../../formats/call/size.ts'
import type { DataRegion, Priority, TaskName } from '../../formats/vocabulary.ts'
import type { ClientCodec, ReplySummary } from '../../formats/wire-format.ts'
import type { KeyContext } from '../../gateway/account-cache.ts'
import type { Placeholders } from '../../governance/filters/placeholders.ts'
import type { GuardrailHit } from '../../governance/policy/content-rules.ts'
import type { Amounts } from '../../ledger/amounts.ts'
import type { Charge } from '../../ledger/charge.ts'
import type { Draft } from '../../ledger/draft.ts'
import type { HoldRequest, NearestLimit } from '../../ledger/ledger-state.ts'
import type { Statement } from '../../platform/db/batch.ts'
import type { GenerationStatus } from '../../platform/db/generation-table.ts'
import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { SpanRecorder } from '../../platform/tracing/span-recorder.ts'
import type { Funds } from '../hold/funds.ts'
import type { RequestLimits } from '../hold/spending.ts'
import type { ReplyObserver, ReplyTransform } from '../reply/transforms.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { RoutingDecision } from '../routing/decide.ts'
import type { HealthSnapshot } from '../routing/explain.ts'
import type { AppliedRule } from './applied-rule.ts'
import type { Attempts } from './attempts.ts'
import type { ClientFormat } from './client-format.ts'
import type { ReceivedFacts, RequestContent, RequestSource } from './content.ts'
import type { RequestOptions } from './options.ts'
import type { RequestWork } from './work.ts'

/** A request whose body has been validated against the schema of its format, but not parsed yet. */
export interface IncomingRequest {
  caller: Caller
  region: DataRegion
  httpRequest: Request
  body: JsonObject
  source: RequestSource
  format: ClientFormat
  /** The generation's id, where the client already knows it. */
  id?: string
  onAdmitted?: RequestState['onAdmitted']
  store?: RequestState['store']
  isNested?: true
  outer?: RequestState['outer']
  /** The tags of the outer request. */
  tags?: readonly string[]
  /** The priority of the outer request. */
  priority?: Priority
  /** The funds of the outer request, which this one draws on. */
  outerFunds?: Funds
  onSettled?: RequestState['onSettled']
  /** The trace of the outer request. */
  trace?: NestedTrace
  /** Changes that the client needs in every reply. */
  replyTransforms?: RequestState['replyTransforms']
  replyObservers?: RequestState['replyObservers']
  /** Replaces the context of the caller's key. */
  keyContext?: KeyContext
}

/** The place of a nested request in the trace of its outer request. */
export interface NestedTrace extends Pick<RequestState, 'sampledId' | 'spans'> {}

/** The end of a request, for callbacks on its settlement. */
export interface SettledReply {
  status: GenerationStatus
  summary: ReplySummary | null
  /** The candidate of the last attempt; null if there was none. */
  candidate: Candidate | null
  upstreamWireFormat: string
  /** Fields of the request that the translation dropped. */
  dropped: string[]
  /** The charge of the request, and of the requests it has made. */
  cost: bigint
  /** The charge of the request alone. */
  charge: Charge
  error: GatewayError | null
  firstTokenMs: number | null
}

/** The properties of a format that routing, admission and records read. */
export interface RequestFormat {
  /** The name in records. */
  name: string
  task: TaskName
  requestCodec?: Pick<ClientCodec, 'rejectsMandatoryReasoning'>
}

/** The properties of the content of a request that routing and admission read. */
export interface MeasuredContent {
  /** A short form that stages read instead of the call, where it is enough; null if the prompt is not plain. */
  readonly plain: PlainPrompt | null
  /** The prompt; for a task other than text, the text and media it consists of. */
  readonly call: ModelCall
  readonly stream: boolean
  /** An estimated number of tokens. */
  readonly promptTokens: number
  /** The body in the client's format. */
  readonly body: JsonObject
  readonly received: ReceivedFacts
  measure(): RequestSize
}

/** The candidates for a request, best first. */
export interface RoutingPlan extends RoutingDecision {
  /** The models that the requested slugs resolve to. */
  resolvedModels: ResolvedModel[]
  /** The health of the endpoints at decision time, if metadata was requested. */
  healthSnapshot: HealthSnapshot | null
  /** See `findQualityFloor`; null also if metadata was not requested. */
  qualityFloor: number | null
}

/** The hold of an admitted request, and the first part of its generation. */
export interface PlacedHold {
  /** Amounts held for a request that pays for one reply. */
  amounts: Amounts
  /** Further holds, of a request that was sent to a more expensive model. */
  extensions?: readonly string[]
  /** The funds of a request that may pay for more; null otherwise. */
  funds: Funds | null
  /** The limit it left the least of; null if there is none. */
  nearest: NearestLimit | null
  /** The meters its charge counts in. */
  meteredIn: Pick<HoldRequest, 'subjects' | 'day'>
  draft: Draft
}

/**
 * A request to a model, whatever it asks for, from its parsing to its settlement. It is created once; each stage changes
 * it in place. A turn and a nested request have a state of their own.
 */
export interface RequestState {
  caller: Caller
  region: DataRegion
  httpRequest: Request
  format: RequestFormat
  keyContext: KeyContext
  content: MeasuredContent
  options: RequestOptions
  /** The routing rule that it met; null if it met none. */
  rule: AppliedRule | null
  presetId: string | null
  /** Whether the prompt and the reply are stored for the workspace to read. */
  logsContent: boolean
  /** The destinations it is sent to once it is settled; null if there are none. */
  exportTargets: ExportTargets | null
  /** The id of the generation. */
  id: string
  /** Arrival: milliseconds of the wall clock, and of the monotonic one. */
  at: number
  startedAt: number
  /** Milliseconds for all attempts together, if that is shorter than the limits of any request. */
  timeLimitMs: number | null
  /** The id that destinations sample it by: its own, or that of its outer request. */
  sampledId: string
  /** The recorder of its spans; null if nothing reads them. */
  spans: SpanRecorder | null
  /** Whether a plugin or a tool of another request has made it. */
  isNested: boolean
  /** The request on whose behalf it is made, and what for: recovery adds it to the bill of that request. */
  outer: { id: string; purpose: string } | null
  /** Called on admission: a later failure is part of the reply. */
  onAdmitted: (() => void) | null
  /** Statements committed with the charge; `reply` is in the client's format. */
  store: ((reply: JsonObject) => Promise<Statement[]>) | null
  /** Called after the settlement is durable; must not throw. */
  onSettled: readonly ((settled: SettledReply) => void)[]

  /** Set once the guardrails have been applied: its content may be sent. */
  isGuarded: true
  /** Matches of the guardrails so far; null if there are no rules to apply. */
  hits: GuardrailHit[] | null
  /** The values that its prompt has placeholders for; null if no filter is reversible. */
  placeholders: Placeholders | null
  /** Adds the matches that are found only in a reply that has ended. */
  completeHits: (() => Promise<void>) | null
  /** Plugins and server tools; null if there are none. */
  work: RequestWork | null
  /** The funds of a request that pays for more than one thing, or that another request pays for; null otherwise. */
  funds: Funds | null
  /** Whether its rate limit has counted it before admission. */
  isRateCounted: boolean
  /** Transforms, created once for each attempt. Replies are passed through unchanged only while there are none. */
  replyTransforms: readonly (() => ReplyTransform)[]
  /** Transforms that come last, after all of `replyTransforms`, whatever those add to the reply. */
  replyFilters: readonly (() => ReplyTransform)[]
  replyObservers: readonly (() => ReplyObserver)[]
  /** Creates the transform that restores values for the client alone, behind observers; null if there are none. */
  restoreReply: (() => ReplyTransform) | null
  /** HTTP headers added to those of the reply. */
  replyHeaders: Readonly<Record<string, string>>

  /** The candidates it may be sent to; null until it is routed. */
  plan: RoutingPlan | null
  /** The declared limits that depend on the request; null if there are none, and until it is admitted. */
  limits: RequestLimits | null
  /** The placed hold; null until the request is admitted. */
  hold: PlacedHold | null
  attempts: Attempts
  /** The settlement in progress; null until the request ends. */
  settling: Promise<void> | null
}

/** A request before the guardrails are applied: it cannot be routed or sent. */
export type Unguarded<R extends RequestState> = Omit<R, 'isGuarded'> & { isGuarded: boolean }

/** A request whose candidates are known. */
export type Routed<R extends RequestState = RequestState> = R & { plan: RoutingPlan }

/** A request that may be sent: its worst case is within every limit, and is held. */
export type Admitted<R extends RequestState = RequestState> = Routed<R> & { hold: PlacedHold }

/** A request for text. */
export interface InferenceRequest extends RequestState {
  format: ClientFormat
  content: RequestContent
}
