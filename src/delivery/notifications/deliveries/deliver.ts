import type { Gateway } from '../../../gateway/gateway.ts'
import { findRule } from '../../../identity/notification-rules.ts'
import type { RunResult } from '../../../platform/concurrency/repeated-task.ts'
import { subsystemLog } from '../../../platform/logging/subsystem-log.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { type Message, postWebhook, sendEmail } from './message.ts'
import {
  type ClaimedDelivery,
  claimMessage,
  completeMessage,
  hasPendingMessages,
  listDueMessages,
} from './store.ts'

const minuteMs = 60_000
/** Delays before each further attempt. After the last one, the message is given up. */
const retryDelaysMs = [1, 5, 30, 120, 720].map((minutes) => minutes * minuteMs)
/** Duration of a lease, longer than an attempt can take. */
const leaseMs = 3 * minuteMs
/** Sent at the same time. */
const maxMessages = 8

/** The job: sends what is due. Any node may; each message is leased to one at a time. */
export async function deliverNotifications(gateway: Gateway): Promise<RunResult> {
  if (!(await hasPendingMessages(gateway.db))) return 'idle'
  const due = await listDueMessages(gateway.db, isoNow(gateway.clock), maxMessages)
  await Promise.all(due.map((messageId) => deliverMessage(gateway, messageId)))
  return 'busy'
}

/** Delivers a message. After a crash the same message is sent again, with the same id. */
async function deliverMessage(gateway: Gateway, messageId: string): Promise<void> {
  const { db, clock, node, log } = gateway
  const lease = {
    owner: node.id,
    now: isoNow(clock),
    until: new Date(clock.now() + leaseMs).toISOString(),
  }
  const deliveries = await claimMessage(db, messageId, lease)
  const [first] = deliveries
  if (!first) return
  const message = buildMessage(messageId, deliveries, isoNow(clock))
  const error = await send(gateway, first, message).catch((err: unknown) => {
    subsystemLog(log, 'delivery').warn({ err, message: messageId }, 'a notification could not be sent')
    return 'The gateway could not send it.'
  })
  const delayMs = error === null ? undefined : retryDelaysMs[first.attempts]
  if (error !== null)
    subsystemLog(log, 'delivery').warn(
      { message: messageId, channel: first.channel, error, isLast: !delayMs },
      'a notification was not sent',
    )
  await completeMessage(db, messageId, node.id, {
    attempts: first.attempts + 1,
    error,
    ...(delayMs === undefined
      ? { state: error === null ? ('delivered' as const) : ('failed' as const) }
      : { due_at: new Date(clock.now() + delayMs).toISOString() }),
  })
}

/** Null if it was accepted. */
async function send(
  gateway: Gateway,
  { channel, address, organization_id, rule_id }: ClaimedDelivery,
  message: Message,
): Promise<string | null> {
  if (channel === 'email') return sendEmail(gateway, address, message)
  const rule = await findRule(gateway.db, organization_id, rule_id)
  return rule ? postWebhook(gateway, rule, address, message) : 'The rule was deleted.'
}

/** Maximum notifications of a digest that are shown in full. */
const maxDigestEntries = 100

function buildMessage(id: string, deliveries: readonly ClaimedDelivery[], now: string): Message {
  const [first] = deliveries
  if (first?.is_digest === 0) {
    return {
      id,
      subject: `Headgate: ${first.title}`,
      text: `${first.text}\n\nNotified at ${first.created_at}, kind ${first.kind}.`,
      event: { type: `notification.${first.kind}`, timestamp: first.created_at, data: toEventData(first) },
    }
  }
  // Two rules may have the same notification for one address.
  const unique = [...new Map(deliveries.map((delivery) => [delivery.notification_id, delivery])).values()]
  const shown = unique.slice(0, maxDigestEntries)
  const rest = unique.length - shown.length
  const parts = shown.map(({ title, text, created_at }) => `${title}\n${created_at}\n${text}`)
  return {
    id,
    subject: `Headgate: ${unique.length} notifications`,
    text: [...parts, ...(rest > 0 ? [`And ${rest} more: see GET /notifications.`] : [])].join('\n\n'),
    event: {
      type: 'notification.digest',
      timestamp: now,
      data: { total: unique.length, notifications: shown.map(toEventData) },
    },
  }
}

function toEventData(row: ClaimedDelivery) {
  const { notification_id, organization_id, workspace_id, kind, title, text, created_at } = row
  return {
    id: notification_id,
    organization_id,
    workspace_id,
    kind,
    title,
    text,
    created_at,
    ...{ details: JSON.parse(row.data) },
  }
}
