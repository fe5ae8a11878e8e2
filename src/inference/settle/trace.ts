import type { WireFormatName } from '../../formats/vocabulary.ts'
import type { ReplyContext, ReplySummary } from '../../formats/wire-format.ts'
import type { Charge } from '../../ledger/charge.ts'
import type { GenerationStatus } from '../../platform/db/generation-table.ts'
import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { OpenSpan } from '../../platform/tracing/span-recorder.ts'
import type { FailedAttempt } from '../failures/failure.ts'
import type { RoutingPlan } from '../plan/plan.ts'
import type { Transcript } from '../reply/transcript.ts'
import type { ReplyPipeline } from '../reply/transforms.ts'
import type { PipelineStage } from '../request/work.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { UpstreamAccess } from '../upstream/access.ts'
import type { Translation } from '../upstream/translate.ts'

/** What failover and records need to know of a request encoded for one upstream. */
export interface AttemptedTranslation {
  wireFormat: { name: WireFormatName }
  upstreamRequest: { dropped: string[] }
  isPassThrough: boolean
  /** How the prompt was shortened. */
  compression?: PipelineStage | null
  access: UpstreamAccess
}

/** The progress of a request through the providers. */
export interface RequestTrace {
  plan: RoutingPlan
  startedAt: number
  attempts: FailedAttempt[]
  /** When the last attempt began, and whether its outcome is still to be recorded. */
  attemptStartedAt: number
  isOpen: boolean
  /** Of the last attempt, and of the reply it led to. */
  attemptSpan: OpenSpan | null
  replySpan: OpenSpan | null
  /** Of the current or last attempt. */
  candidate: Candidate | null
  translation: AttemptedTranslation | null
  /** Of the reply, if its content is logged or exported. */
  transcript: Transcript | null
  /** From arrival to the first content of a stream. */
  firstTokenMs: number | null
}

export function createTrace(startedAt: number, plan: RoutingPlan): RequestTrace {
  return {
    plan,
    startedAt,
    attempts: [],
    attemptStartedAt: startedAt,
    isOpen: false,
    attemptSpan: null,
    replySpan: null,
    candidate: null,
    translation: null,
    transcript: null,
    firstTokenMs: null,
  }
}

/** One candidate, with the request encoded for it and the stages of its reply. */
export interface Attempt {
  candidate: Candidate
  translation: Translation
  context: ReplyContext
  pipeline: ReplyPipeline
}

/** An attempt whose upstream has begun to reply. */
export interface AcceptedAttempt<R> extends Attempt {
  reply: R
}

/** How a request ended. */
export interface Outcome {
  status: GenerationStatus
  charge: Charge
  summary: ReplySummary | null
  error: GatewayError | null
  firstTokenMs: number | null
}
