import type { Insertable } from 'kysely'
import type { NotificationRule, RuleChannel } from '../../../identity/notification-rules.ts'
import { deriveUuid, newUuid } from '../../../platform/crypto/ids.ts'
import type { NotificationDeliveryTable } from '../../../platform/db/schema.ts'

const dayMs = 86_400_000
/** UTC: when most recipients begin to work, or have begun. */
const digestHourMs = 8 * 3_600_000

export function buildDelivery(
  rule: NotificationRule,
  { channel, address }: RuleChannel,
  notificationId: string,
  now: number,
): Insertable<NotificationDeliveryTable> {
  const id = newUuid()
  const isDigest = rule.digest === 'daily'
  const dueAt = new Date(isDigest ? nextDigest(now) : now).toISOString()
  return {
    id,
    notification_id: notificationId,
    rule_id: rule.id,
    organization_id: rule.organization_id,
    channel,
    address,
    message_id: isDigest ? deriveDigestId(rule, channel, address, dueAt) : id,
    is_digest: isDigest ? 1 : 0,
    state: 'pending',
    due_at: dueAt,
    lease_owner: null,
    lease_until: null,
    error: null,
  }
}

function nextDigest(now: number): number {
  const today = Math.floor(now / dayMs) * dayMs + digestHourMs
  return now < today ? today : today + dayMs
}

/** One mail a day for an address, whatever the rules; webhooks are signed with the secret of their rule. */
function deriveDigestId(rule: NotificationRule, channel: string, address: string, dueAt: string): string {
  const sender = channel === 'email' ? rule.organization_id : rule.id
  return deriveUuid('notification-digest', sender, channel, address, dueAt)
}
