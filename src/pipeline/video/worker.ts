import { claimDueJobs, type VideoJob } from '../../account/video-jobs.ts'
import type { Gateway } from '../../app/gateway.ts'
import { buildLease, withLease } from './lease.ts'

type JobStep = (gateway: Gateway, job: VideoJob) => Promise<void>

/** What advances jobs is loaded with the first of them: it reaches every provider. */
const advanceJob: JobStep = async (gateway, job) => (await import('./advance.ts')).advanceJob(gateway, job)
const deliverWebhook: JobStep = async (gateway, job) =>
  (await import('./webhook.ts')).deliverWebhook(gateway, job)

/** Starts the work that is due on jobs that no other node holds. */
export async function runVideoJobs(gateway: Gateway): Promise<void> {
  const { db, videoTasks } = gateway
  const start = async (column: 'due_at' | 'webhook_due_at', run: JobStep) => {
    if (videoTasks.free === 0) return
    for (const job of await claimDueJobs(db, column, buildLease(gateway), videoTasks.free))
      void videoTasks.run(job.id, () => withLease(gateway, job.id, () => run(gateway, job)))
  }
  await start('due_at', advanceJob)
  await start('webhook_due_at', deliverWebhook)
}
