import type { WireFormatName } from '../../formats/vocabulary.ts'
import type { ReplySummary } from '../../formats/wire-format.ts'
import type { Charge } from '../../ledger/charge.ts'
import type { GenerationStatus } from '../../platform/db/generation-table.ts'
import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { OpenSpan } from '../../platform/tracing/span-recorder.ts'
import type { FailedAttempt } from '../failures/failure.ts'
import type { Transcript } from '../reply/transcript.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { UpstreamAccess } from '../upstream/access.ts'
import type { PipelineStage } from './work.ts'

/** What failover and records need to know of a request encoded for one upstream. */
export interface AttemptedTranslation {
  wireFormat: { name: WireFormatName }
  upstreamRequest: { dropped: string[] }
  isPassThrough: boolean
  /** How the prompt was shortened. */
  compression?: PipelineStage | null
  access: UpstreamAccess
}

/** The same without the request that was sent, which may be long. */
export function describeTranslation(translation: AttemptedTranslation): AttemptedTranslation {
  const { wireFormat, upstreamRequest, isPassThrough, compression = null, access } = translation
  return {
    wireFormat,
    upstreamRequest: { dropped: upstreamRequest.dropped },
    isPassThrough,
    compression,
    access,
  }
}

/** The progress of a request through the providers. Turns share those of their request. */
export interface Attempts {
  failed: FailedAttempt[]
  /** When the last attempt began; the arrival of the request until then. */
  lastStartedAt: number
  /** The outcome of the last attempt is still to be recorded. */
  isOpen: boolean
  /** Of the last attempt, and of the reply it led to. */
  span: OpenSpan | null
  replySpan: OpenSpan | null
  /** Of the current or last attempt. */
  candidate: Candidate | null
  translation: AttemptedTranslation | null
  /** Of the reply, if its content is logged or exported. */
  transcript: Transcript | null
  /** From arrival to the first content of a stream. */
  firstTokenMs: number | null
}

/** How a request ended. */
export interface Outcome {
  status: GenerationStatus
  charge: Charge
  summary: ReplySummary | null
  error: GatewayError | null
  firstTokenMs: number | null
}
