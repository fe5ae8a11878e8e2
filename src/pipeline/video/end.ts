import {
  buildJobEnd,
  type EndedJob,
  endJobWithoutHold,
  findJobHold,
  openJobRequest,
  readSent,
  type SentVideoJob,
  sealJson,
  type VideoJob,
} from '../../account/video-jobs.ts'
import type { Gateway } from '../../app/gateway.ts'
import { zeroUsage } from '../../call/usage.ts'
import { listVideoUnits, type VideoEnd, type VideoProgress } from '../../call/video.ts'
import type { Statement } from '../../db/batch.ts'
import type { HoldTable } from '../../db/schema.ts'
import { type Charge, priceReply, zeroCharge } from '../../ledger/charge.ts'
import { type Draft, decodeDraft } from '../../ledger/draft.ts'
import type { Settlement } from '../../ledger/engine.ts'
import { buildTermsOfHold } from '../../ledger/recovered-request.ts'
import { buildSettlement, createRelease, type SettledGeneration } from '../../ledger/settlement.ts'
import { isoNow } from '../../lib/clock.ts'
import { maxCharacters } from '../reply/transcript.ts'
import { buildDetachedStatements } from '../settlement/records.ts'
import { encodeDropped } from '../settlement/settle.ts'

type CompletedVideo = Extract<VideoProgress, { status: 'completed' }>

/** How a job ends. `code` is that of its generation. */
export type VideoOutcome =
  | CompletedVideo
  | { status: Exclude<VideoEnd, 'completed'>; message: string; code: string }

const hourMs = 3_600_000

/**
 * Ends a job once: its state, its charge and its webhook are one transaction. If the hold is gone, another node ended
 * the job, or it never had one.
 */
export async function endJob(gateway: Gateway, job: VideoJob, outcome: VideoOutcome): Promise<void> {
  const { db, ledger, metrics } = gateway
  const ended = buildEnd(gateway, job, outcome)
  const hold = await findJobHold(db, job.generation_id)
  if (hold) {
    const sent = readSent(job)
    const charge = sent ? computeJobCharge(sent, hold, outcome) : zeroCharge
    const statement = buildJobEnd(db, job.id, ended)
    await ledger.settle(await buildJobSettlement(gateway, job, { hold, sent, charge, outcome, statement }))
    if (sent) metrics.recordCharge(sent.target.provider, charge)
  }
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
    contents: isCompleted ? sealJson(vault, job.id, outcome.urls) : null,
    endedAt,
    contentExpiresAt: isCompleted ? expiresAt : null,
    webhookDueAt: openJobRequest(vault, job).callbackUrl === null ? null : endedAt,
  }
}

/** A completed video is charged by its seconds, by the video or by tokens, as its endpoint is priced. */
function computeJobCharge({ target, chosen }: SentVideoJob, hold: HoldTable, outcome: VideoOutcome): Charge {
  if (outcome.status !== 'completed') return zeroCharge
  const draft = decodeDraft(hold.draft)
  const videos = outcome.urls.length
  const seconds = outcome.seconds ?? (chosen.duration ?? 0) * videos
  const units = listVideoUnits(chosen, seconds, { videos, tokens: outcome.tokens })
  const reply = { usage: zeroUsage, complete: true, characters: 0, finished: true, failed: false, units }
  return priceReply(reply, buildTermsOfHold(hold, draft, target))
}

interface SettledJob {
  hold: HoldTable
  sent: SentVideoJob | null
  charge: Charge
  outcome: VideoOutcome
  /** Ends the job in the same transaction. */
  statement: Statement
}

/** A job that reached no provider has nothing to account for. No settlement corrects it: its hold is never an orphan. */
async function buildJobSettlement(
  gateway: Gateway,
  job: VideoJob,
  { hold, sent, charge, outcome, statement }: SettledJob,
): Promise<Settlement> {
  if (!sent) return { ...createRelease(job.generation_id, job.organization_id), extraStatements: [statement] }
  const draft: Draft = decodeDraft(hold.draft)
  const isCompleted = outcome.status === 'completed'
  const settled: SettledGeneration = {
    draft: draft.generation,
    target: sent.target,
    charge,
    end: {
      status: outcome.status === 'expired' ? 'failed' : outcome.status,
      error_code: isCompleted ? null : outcome.code,
      finish_reason: isCompleted ? 'stop' : null,
      hold_nanos: hold.amount_nanos,
      latency_ms: Math.max(0, Math.round(gateway.clock.now() - Date.parse(job.created_at))),
      attempts: sent.attempts,
      dropped: encodeDropped(sent.dropped),
    },
  }
  const records = await buildDetachedStatements(gateway, settled, {
    input: { prompt: openJobRequest(gateway.vault, job).call.prompt.slice(0, maxCharacters) },
    errorMessage: isCompleted ? null : outcome.message,
  })
  return buildSettlement(settled, null, [statement, ...records])
}
