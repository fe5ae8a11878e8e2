import type { Priority } from '../../formats/vocabulary.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { RateUse } from './rate-use.ts'
import type { Room } from './room.ts'

/** A request that is sent once a rate leaves room for its priority. */
export interface RatedRequest {
  candidate: Candidate
  priority: Priority
  use: RateUse
}

/** A request that is about to wait. */
export interface WaitingRequest extends RatedRequest {
  keyId: number
  /** Aborted when the client disconnects. */
  signal: AbortSignal
  /** Milliseconds for which it may wait. */
  maxWaitMs: number
}

/** The requests that wait for one endpoint with one credential. */
export interface WaitingRequests {
  readonly length: number
  count(priority: Priority): number
  /** Whether a request would have to wait for others before it. */
  hasBefore(priority: Priority): boolean
  /** Resolves once there is room. Rejects if that takes too long, and once the client is gone. */
  wait(request: WaitingRequest, waitMs: number): Promise<Room>
  stop(): void
}
