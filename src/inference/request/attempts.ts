import type { FallbackReason } from '../../formats/schema/fallbacks.ts'
import type { WireFormatName } from '../../formats/vocabulary.ts'
import type { ReplySummary } from '../../formats/wire-format.ts'
import type { Charge } from '../../ledger/charge.ts'
import type { GenerationStatus } from '../../platform/db/generation-table.ts'
import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { OpenSpan } from '../../platform/tracing/span-recorder.ts'
import type { FailedAttempt } from '../failures/failure.ts'
import type { Room } from '../rates/room.ts'
import type { Transcript } from '../reply/transcript.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { UpstreamAccess } from '../upstream/access.ts'
import type { PipelineStage } from './work.ts'

/** Facts of a request encoded for one upstream, for failover and records. */
export interface AttemptedTranslation {
  wireFormat: { name: WireFormatName }
  upstreamRequest: { dropped: string[] }
  isPassThrough: boolean
  /** Breakpoints for the provider's prompt cache that the gateway added. */
  cacheBreakpoints?: number
  /** The stage that shortened the prompt. */
  compression?: PipelineStage | null
  access: UpstreamAccess
}

/** The same without the request that was sent, which may be long. */
export function describeTranslation(translation: AttemptedTranslation): AttemptedTranslation {
  const {
    wireFormat,
    upstreamRequest,
    isPassThrough,
    compression = null,
    access,
    cacheBreakpoints,
  } = translation
  return {
    wireFormat,
    upstreamRequest: { dropped: upstreamRequest.dropped },
    isPassThrough,
    compression,
    access,
    ...(cacheBreakpoints !== undefined && { cacheBreakpoints }),
  }
}

/** Another model was to serve the request. */
export interface FallbackStep {
  reason: FallbackReason
  /** The models, by their ids. */
  from: string
  to: string
}

/** The progress of a request through the providers. Turns share those of their request. */
export interface Attempts {
  failed: FailedAttempt[]
  /** Start of the last attempt; before the first, the arrival of the request. */
  lastStartedAt: number
  /** Whether the outcome of the last attempt is still to be recorded. */
  isOpen: boolean
  /** Spans of the last attempt, and of the reply it led to. */
  span: OpenSpan | null
  replySpan: OpenSpan | null
  /** The candidate of the current or last attempt. */
  candidate: Candidate | null
  translation: AttemptedTranslation | null
  /** Collected only if the content of the reply is logged or exported. */
  transcript: Transcript | null
  /** Milliseconds from arrival to the first content of a stream. */
  firstTokenMs: number | null
  /** What the provider's prompt cache saved, once the reply is priced; absent if it was not used. */
  cacheSavings?: bigint
  /** The models that were added to the plan; null if none were. */
  fallbacks: readonly FallbackStep[] | null
  /** What the last attempt occupies of the known rates of its endpoint; null if none are known. */
  room: Room | null
  /** What the rates of providers have changed; null if nothing. */
  queue: RateDelay | null
}

/** A request that the rates of providers have delayed, or sent to another candidate. */
export interface RateDelay {
  waitedMs: number
  /** Candidates without room for it when another one had some. */
  passedOver: readonly Candidate[]
}

/** The end of a request: its status, its charge and its reply. */
export interface Outcome {
  status: GenerationStatus
  charge: Charge
  summary: ReplySummary | null
  error: GatewayError | null
  firstTokenMs: number | null
}
