import type { Gateway } from '../../../gateway/gateway.ts'
import { type CountedQueue, countAuditBacklog, countWaiting, maxCounted } from './store.ts'

export interface Queue {
  name: string
  description: string
  waiting: number
  /** Whether there are more than were counted. */
  is_capped: boolean
}

const counted: Record<CountedQueue, Pick<Queue, 'name' | 'description'>> = {
  holds: { name: 'holds', description: 'Requests in progress, whose money is held.' },
  rollUps: { name: 'roll_ups', description: 'Finished requests that are not in the sums of Activity yet.' },
  clickhouse: {
    name: 'clickhouse_export',
    description: 'Rolled-up requests that ClickHouse does not have yet.',
  },
  contents: {
    name: 'contents',
    description: 'Logged prompts and replies that are to be moved to the bucket.',
  },
  notifications: { name: 'notifications', description: 'Mails and webhooks of notifications.' },
  videoJobs: { name: 'video_jobs', description: 'Video jobs that a provider works on.' },
  videoWebhooks: { name: 'video_webhooks', description: 'Webhooks of video jobs that have ended.' },
  backgroundResponses: { name: 'background_responses', description: 'Responses in the background.' },
}

/** Measures the queues of the whole installation; `ledger` is that of this node. */
export async function measureQueues(gateway: Gateway): Promise<Queue[]> {
  const { db, ledger, metrics } = gateway
  const queues: Queue[] = [
    createQueue('ledger', 'Holds and charges of this node that are not written yet.', ledger.waiting),
  ]
  for (const [queue, { name, description }] of Object.entries(counted)) {
    if (queue === 'contents' && gateway.settings.records.contents === 'database') continue
    queues.push(createQueue(name, description, await countWaiting(db, queue as CountedQueue)))
  }
  const deliveries = [...metrics.deliveryQueues.values()].reduce((sum, { depth }) => sum + depth, 0)
  return [
    ...queues,
    createQueue('destinations', 'Events that destinations do not have yet.', deliveries),
    createQueue(
      'audit_destinations',
      'Entries of the audit log that its destinations do not have yet.',
      await countAuditBacklog(db),
    ),
  ]
}

function createQueue(name: string, description: string, count: number): Queue {
  return { name, description, waiting: Math.min(count, maxCounted), is_capped: count > maxCounted }
}
