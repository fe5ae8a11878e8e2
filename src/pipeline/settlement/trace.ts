import type { GenerationStatus } from '../../db/schema.ts'
import type { ReplyContext, ReplySummary } from '../../dialects/dialect.ts'
import type { GatewayError } from '../../errors/gateway-error.ts'
import type { Charge } from '../../ledger/charge.ts'
import type { Candidate } from '../../routing/candidate.ts'
import type { Transcript } from '../reply/transcript.ts'
import type { RoutingPlan } from '../routing/plan.ts'
import type { FailedAttempt } from '../upstream/failure.ts'
import type { Translation } from '../upstream/translate.ts'

/** What is known of a request's way through the providers, also while it is still under way. */
export interface RequestTrace {
  /** Where it may go. */
  plan: RoutingPlan
  startedAt: number
  attempts: FailedAttempt[]
  /** When the last attempt began, and whether what came of it is still open. */
  attemptAt: number
  isOpen: boolean
  /** Where it is now, or ended. */
  candidate: Candidate | null
  translation: Translation | null
  /** What the reply says, where that is kept. */
  transcript: Transcript | null
  /** From the request to the first content of a stream. */
  firstTokenMs: number | null
}

export function createTrace(startedAt: number, plan: RoutingPlan): RequestTrace {
  return {
    plan,
    startedAt,
    attempts: [],
    attemptAt: startedAt,
    isOpen: false,
    candidate: null,
    translation: null,
    transcript: null,
    firstTokenMs: null,
  }
}

/** An endpoint that took the request. */
export interface AcceptedAttempt<R> {
  candidate: Candidate
  translation: Translation
  context: ReplyContext
  transcript: Transcript | null
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
