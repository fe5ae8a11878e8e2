import type { Gateway } from '../../../gateway/gateway.ts'
import { type NotificationRule, openWebhookSecret } from '../../../identity/notification-rules.ts'
import { EgressError, sendBuffered } from '../../../platform/http/egress-client.ts'
import { MailError } from '../../../platform/mail/mailer.ts'
import { sendMail } from '../../../platform/mail/send-mail.ts'
import { signWebhook } from '../../destinations/standard-webhooks.ts'

/** The message to one address: one notification, or the digest of several. */
export interface Message {
  /** The same at every attempt: receivers of webhooks recognize repeated messages by it. */
  id: string
  subject: string
  text: string
  /** The body of a webhook. */
  event: object
}

const timeoutMs = 15_000
const maxResponseBytes = 64 * 1024

/** Null if the mail server accepted it; otherwise why not, without secrets. */
export async function sendEmail(gateway: Gateway, to: string, message: Message): Promise<string | null> {
  try {
    await sendMail(gateway, { to, subject: message.subject, text: message.text })
    return null
  } catch (error) {
    if (error instanceof MailError) return error.message
    throw error
  }
}

/** Null if the receiver accepted it; otherwise why not, without secrets. */
export async function postWebhook(
  gateway: Gateway,
  rule: NotificationRule,
  url: string,
  { id, event }: Message,
): Promise<string | null> {
  const body = new TextEncoder().encode(JSON.stringify(event))
  const secret = openWebhookSecret(gateway.vault, rule)
  if (secret !== null) {
    const { organization_id: organizationId, workspace_id: workspaceId, kind: name } = rule
    gateway.audit.secretUses.addOwned('notification_rule', rule.id, { organizationId, workspaceId, name })
  }
  const signed = { id, sentAt: gateway.clock.now(), body }
  try {
    const { status } = await sendBuffered(
      {
        url,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'headgate',
          'webhook-id': id,
          ...(secret !== null && signWebhook(secret, signed)),
        },
        body,
      },
      { allowPrivate: gateway.settings.egress.allow_private, timeoutMs, maxBytes: maxResponseBytes },
    )
    return status >= 200 && status < 300 ? null : `The receiver returned status ${status}.`
  } catch (error) {
    if (error instanceof EgressError) return error.message
    throw error
  }
}
