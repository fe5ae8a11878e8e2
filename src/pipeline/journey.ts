import type { GenerationStatus } from '../db/schema.ts'
import type { ReplyFacts, Seen } from '../dialects/dialect.ts'
import type { GatewayError } from '../errors.ts'
import type { Charge } from '../ledger/charge.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { FailedAttempt } from './failure.ts'
import type { Plan } from './route.ts'
import type { Transcript } from './transcript.ts'
import type { Translation } from './translate.ts'

/** What is known of a request's way through the providers, also while it is still under way. */
export interface Journey {
  /** Where it may go. */
  plan: Plan
  startedAt: number
  attempts: FailedAttempt[]
  /** When the last attempt began, and whether what came of it is still open. */
  attemptAt: number
  isUnderWay: boolean
  /** Where it is now, or ended. */
  candidate: Candidate | null
  translation: Translation | null
  /** What the reply says, where that is kept. */
  transcript: Transcript | null
  /** From the request to the first content of a stream. */
  firstTokenMs: number | null
}

export function newJourney(startedAt: number, plan: Plan): Journey {
  return {
    plan,
    startedAt,
    attempts: [],
    attemptAt: startedAt,
    isUnderWay: false,
    candidate: null,
    translation: null,
    transcript: null,
    firstTokenMs: null,
  }
}

/** An endpoint that took the request. */
export interface Taken<R> {
  candidate: Candidate
  translation: Translation
  facts: ReplyFacts
  transcript: Transcript | null
  reply: R
}

/** How a request ended. */
export interface Outcome {
  status: GenerationStatus
  charge: Charge
  seen: Seen | null
  error: GatewayError | null
  firstTokenMs: number | null
}
