import { createHmac } from 'node:crypto'
import type { Gateway } from '../../gateway/gateway.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { EgressError, sendBuffered } from '../../platform/http/egress-client.ts'
import { findUrlProblem } from '../../platform/http/egress-policy.ts'
import { subsystemLog } from '../../platform/logging/subsystem-log.ts'
import { findVideoCallback, openJobRequest, updateHeldJob, type VideoJob } from '../../storage/video-jobs.ts'
import { findJobUsage, listContentUrls } from './record.ts'

const minuteMs = 60_000
/** Delays before each further attempt. After the last one, the webhook is given up. */
const retryDelaysMs = [0.5, 2, 10, 60, 360].map((minutes) => minutes * minuteMs)
const timeoutMs = 15_000
const maxResponseBytes = 64 * 1024

/** Rejects addresses without https, unless the operator allows them. */
export function assertCallbackAllowed(
  { settings }: Gateway,
  url: string | null | undefined,
  field: string,
): void {
  const problem = url ? findUrlProblem(URL.parse(url), settings.egress.allow_private) : null
  if (problem !== null) throw invalidFieldError(field, problem)
}

/** Delivers a webhook. Never throws. A webhook may be sent twice, with the same idempotency key. */
export async function deliverWebhook(gateway: Gateway, job: VideoJob): Promise<void> {
  const { db, node, log } = gateway
  try {
    const problem = await sendWebhook(gateway, job)
    const delay = problem === null ? undefined : retryDelaysMs[job.webhook_attempts]
    if (problem !== null)
      subsystemLog(log, 'inference').warn(
        { job: job.id, generationId: job.generation_id, problem, isLast: delay === undefined },
        'a webhook failed',
      )
    await updateHeldJob(db, job.id, node.id, {
      webhook_attempts: job.webhook_attempts + 1,
      webhook_due_at: delay === undefined ? null : new Date(gateway.clock.now() + delay).toISOString(),
      lease_owner: null,
      lease_until: null,
    })
  } catch (err) {
    subsystemLog(log, 'inference').warn(
      { err, job: job.id, generationId: job.generation_id },
      'a webhook could not be sent: it is tried again later',
    )
  }
}

/** Sends a webhook; returns the problem, or null if the receiver accepted it. */
async function sendWebhook(gateway: Gateway, job: VideoJob): Promise<string | null> {
  const { callbackUrl, origin } = openJobRequest(gateway.vault, job)
  if (callbackUrl === null) return null
  const body = JSON.stringify(await buildEvent(gateway, job, origin))
  try {
    const { status } = await sendBuffered(
      {
        url: callbackUrl,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'headgate',
          'x-service-idempotency-key': `${job.id}-${job.status}`,
          ...(await buildSignature(gateway, job, body)),
        },
        body,
      },
      { allowPrivate: gateway.settings.egress.allow_private, timeoutMs, maxBytes: maxResponseBytes },
    )
    return status >= 200 && status < 300 ? null : `status ${status}`
  } catch (error) {
    if (error instanceof EgressError) return error.message
    throw error
  }
}

async function buildEvent(gateway: Gateway, job: VideoJob, origin: string) {
  const isCompleted = job.status === 'completed'
  const usage = await findJobUsage(gateway.db, job)
  return {
    type: `video.generation.${job.status}`,
    created_at: job.ended_at,
    data: {
      id: job.id,
      status: job.status,
      generation_id: usage ? job.generation_id : null,
      model: job.model,
      ...(isCompleted && { unsigned_urls: listContentUrls(gateway, job, origin) }),
      ...(isCompleted && usage && { usage }),
      ...(job.error !== null && { error: job.error }),
    },
  }
}

/** Signs the body with the secret of the workspace, if it has one. */
async function buildSignature(
  { db, vault, clock, audit }: Gateway,
  job: VideoJob,
  body: string,
): Promise<Record<string, string>> {
  const encrypted = (await findVideoCallback(db, job.workspace_id))?.sealed_video_secret
  if (!encrypted) return {}
  audit.secretUses.add('video_secret', job.workspace_id)
  const secret = vault.decrypt(encrypted, videoSecretContext(job.workspace_id))
  const time = Math.floor(clock.now() / 1000)
  const signature = createHmac('sha256', secret).update(`${time},${body}`).digest('hex')
  return { 'x-service-signature': `t=${time},v1=${signature}` }
}

/** The context that the encrypted secret of a workspace is bound to. */
export function videoSecretContext(workspaceId: string): string {
  return `video-webhook/${workspaceId}`
}
