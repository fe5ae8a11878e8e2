import { zeroUsage } from '../../formats/call/usage.ts'
import { listVideoUnits, type VideoEnd, type VideoProgress } from '../../formats/call/video.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { type Charge, priceReply, zeroCharge } from '../../ledger/charge.ts'
import { type Draft, decodeDraft, NewerFormatError } from '../../ledger/draft.ts'
import {
  buildTermsOfHold,
  buildUnrecovered,
  type RecoveredRequest,
  type RecoveryFailure,
} from '../../ledger/recovered-request.ts'
import { settleRecovered } from '../../ledger/recovery.ts'
import { createRelease, type SettledGeneration } from '../../ledger/settlement.ts'
import type { Statement } from '../../platform/db/batch.ts'
import type { HoldTable } from '../../platform/db/schema.ts'
import { subsystemLog } from '../../platform/logging/subsystem-log.ts'
import { isoNow } from '../../platform/time/clock.ts'
import {
  buildJobEnd,
  DamagedJobError,
  type EndedJob,
  encryptJson,
  endJobWithoutHold,
  findJobHold,
  openJobRequest,
  readSent,
  type SentVideoJob,
  type VideoJob,
  type VideoJobRequest,
} from '../../storage/video-jobs.ts'
import { maxCharacters } from '../reply/transcript.ts'
import { buildDetachedStatements } from '../settle/records.ts'
import { encodeDropped } from '../settle/settle.ts'

type CompletedVideo = Extract<VideoProgress, { status: 'completed' }>

/** The end of a job. `code` is that of its generation. */
export type VideoOutcome =
  | CompletedVideo
  | { status: Exclude<VideoEnd, 'completed'>; message: string; code: string }

const hourMs = 3_600_000

/**
 * Ends a job once: its state, its charge and its webhook are one transaction. If the hold is gone, another node ended
 * the job, or it never had one.
 */
export async function endJob(gateway: Gateway, job: VideoJob, outcome: VideoOutcome): Promise<void> {
  const { db } = gateway
  const ended = buildEnd(gateway, job, outcome)
  const hold = await findJobHold(db, job.generation_id)
  if (hold) await settleJob(gateway, job, { hold, outcome, statement: buildJobEnd(db, job.id, ended) })
  await endJobWithoutHold(db, job.id, ended)
}

function buildEnd(gateway: Gateway, job: VideoJob, outcome: VideoOutcome): EndedJob {
  const { clock, vault, settings } = gateway
  const endedAt = isoNow(clock)
  const isCompleted = outcome.status === 'completed'
  const expiresAt = new Date(clock.now() + settings.videos.content_hours * hourMs).toISOString()
  return {
    status: outcome.status,
    error: isCompleted ? null : outcome.message,
    contents: isCompleted ? encryptJson(vault, job.id, outcome.urls) : null,
    endedAt,
    contentExpiresAt: isCompleted ? expiresAt : null,
    webhookDueAt: tryOpenRequest(gateway, job)?.callbackUrl ? endedAt : null,
  }
}

/** The request of a job, as far as it can be read: a damaged one must not keep the job open. */
function tryOpenRequest({ vault, log }: Gateway, job: VideoJob): VideoJobRequest | null {
  try {
    return openJobRequest(vault, job)
  } catch (err) {
    subsystemLog(log, 'inference').warn(
      { err, job: job.id, generationId: job.generation_id },
      'the request of a video job cannot be read',
    )
    return null
  }
}

interface SettledJob {
  hold: HoldTable
  outcome: VideoOutcome
  /** Ends the job in the same transaction. */
  statement: Statement
}

/** A job that reached no provider has nothing to account for. No settlement corrects it: its hold is never an orphan. */
async function settleJob(gateway: Gateway, job: VideoJob, source: SettledJob): Promise<void> {
  const { ledger, metrics, log } = gateway
  const { hold, statement } = source
  if (job.sent === null) {
    const release = createRelease(job.generation_id, job.organization_id)
    await ledger.settle({ ...release, extraStatements: [statement] })
    return
  }
  const recovered = recoverJob(gateway, job, source)
  const { settled, unrecovered } = await settleRecovered(ledger, hold, recovered, (record) =>
    buildStatements(gateway, job, source, record),
  )
  if (!unrecovered) {
    if (!settled) return
    metrics.recordCharge(settled.target.provider, settled.charge)
    metrics.models.recordJob(settled, 'video')
    return
  }
  metrics.recordInterrupted('unrecovered', 1)
  subsystemLog(log, 'inference').error(
    { err: unrecovered.cause, job: job.id, generationId: job.generation_id },
    'a video job was recorded without a charge',
  )
}

async function buildStatements(
  gateway: Gateway,
  job: VideoJob,
  { outcome, statement }: SettledJob,
  settled: SettledGeneration,
): Promise<Statement[]> {
  const request = tryOpenRequest(gateway, job)
  const records = await buildDetachedStatements(gateway, settled, {
    input: request && { prompt: request.call.prompt.slice(0, maxCharacters) },
    errorMessage: outcome.status === 'completed' ? null : outcome.message,
  })
  return [statement, ...records]
}

/** One that cannot be decoded or priced is recorded without a charge, as other interrupted requests. */
function recoverJob(gateway: Gateway, job: VideoJob, { hold, outcome }: SettledJob): RecoveredRequest {
  let failure: RecoveryFailure = 'unrecovered_draft'
  let draft: Draft | null = null
  try {
    draft = decodeDraft(hold.draft)
    failure = 'unrecovered_checkpoint'
    const sent = readSent(job)
    if (!sent) throw new DamagedJobError(`the submission of ${job.id} is empty`)
    failure = 'unrecovered_price'
    const charge = computeJobCharge(sent, hold, draft, outcome)
    return { settled: buildRecord(gateway, job, { hold, draft, sent, charge, outcome }), unrecovered: null }
  } catch (cause) {
    if (cause instanceof NewerFormatError) throw cause
    return buildUnrecovered(hold, draft, failure, cause)
  }
}

/** A completed video is charged by its seconds, by the video or by tokens, as its endpoint is priced. */
function computeJobCharge(
  { target, chosen }: SentVideoJob,
  hold: HoldTable,
  draft: Draft,
  outcome: VideoOutcome,
): Charge {
  if (outcome.status !== 'completed') return zeroCharge
  const videos = outcome.urls.length
  const seconds = outcome.seconds ?? (chosen.duration ?? 0) * videos
  const units = listVideoUnits(chosen, seconds, { videos, tokens: outcome.tokens })
  const reply = { usage: zeroUsage, complete: true, characters: 0, finished: true, failed: false, units }
  return priceReply(reply, buildTermsOfHold(hold, draft, target))
}

interface RecordSource {
  hold: HoldTable
  draft: Draft
  sent: SentVideoJob
  charge: Charge
  outcome: VideoOutcome
}

function buildRecord(
  { clock }: Gateway,
  job: VideoJob,
  { hold, draft, sent, charge, outcome }: RecordSource,
): SettledGeneration {
  const isCompleted = outcome.status === 'completed'
  return {
    draft: draft.generation,
    target: sent.target,
    charge,
    end: {
      status: outcome.status === 'expired' ? 'failed' : outcome.status,
      error_code: isCompleted ? null : outcome.code,
      finish_reason: isCompleted ? 'stop' : null,
      hold_nanos: hold.amount_nanos,
      latency_ms: Math.max(0, Math.round(clock.now() - Date.parse(job.created_at))),
      attempts: sent.attempts,
      dropped: encodeDropped(sent.dropped),
    },
  }
}
