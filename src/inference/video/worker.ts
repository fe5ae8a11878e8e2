import type { Gateway } from '../../gateway/gateway.ts'
import type { RunResult } from '../../platform/concurrency/repeated-task.ts'
import { subsystemLog } from '../../platform/logging/subsystem-log.ts'
import { claimDueJobs, hasUnfinishedJobs, type VideoJob } from '../../storage/video-jobs.ts'
import { buildLease, withLease } from './lease.ts'
import { deliverWebhook } from './webhook.ts'

type JobStep = (gateway: Gateway, job: VideoJob) => Promise<void>

/** Loads the code that advances jobs with the first of them: it needs routing, settlement and the upstream client. */
const advanceJob: JobStep = async (gateway, job) => (await import('./advance.ts')).advanceJob(gateway, job)

/** Starts the work that is due on jobs that no other node holds. */
export async function runVideoJobs(gateway: Gateway): Promise<RunResult> {
  const { db, videoTasks, log } = gateway
  if (!(await hasUnfinishedJobs(db))) return 'idle'
  const start = async (column: 'due_at' | 'webhook_due_at', run: JobStep) => {
    if (videoTasks.free === 0) return
    for (const job of await claimDueJobs(db, column, buildLease(gateway), videoTasks.free))
      videoTasks
        .run(job.id, () => withLease(gateway, job.id, () => run(gateway, job)))
        .catch((err: unknown) =>
          subsystemLog(log, 'inference').warn(
            { err, job: job.id, generationId: job.generation_id },
            'a video job could not be run',
          ),
        )
  }
  await start('due_at', advanceJob)
  await start('webhook_due_at', deliverWebhook)
  return 'busy'
}
