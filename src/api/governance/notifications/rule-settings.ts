import type { Gateway } from '../../../gateway/gateway.ts'
import { notificationKinds, webhookSecretContext } from '../../../identity/notification-rules.ts'
import { isMasked } from '../../../platform/crypto/mask.ts'
import type { NotificationKind } from '../../../platform/db/schema.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { findUrlProblem } from '../../../platform/http/egress-policy.ts'
import { canSendMail } from '../../../platform/mail/send-mail.ts'
import type { ChannelsBody, WebhookBody } from './rule-record.ts'

export function resolveThreshold(kind: NotificationKind, sent: number | undefined): number {
  const { unit, defaultThreshold, min, max } = notificationKinds[kind]
  if (sent === undefined) return defaultThreshold
  if (sent < min || sent > max)
    throw invalidFieldError('threshold', `of a ${kind} rule must be from ${min} to ${max} (${unit})`)
  return sent
}

export function toWorkspaceId({
  kind,
  workspace_id,
}: {
  kind: NotificationKind
  workspace_id?: string | null | undefined
}): string | null {
  if (workspace_id && !notificationKinds[kind].hasWorkspaces)
    throw invalidFieldError('workspace_id', `must be absent: ${kind} concerns the whole organization`)
  return workspace_id ?? null
}

/** Converts only what was sent. */
export function toChannelColumns(gateway: Gateway, ruleId: string, { email, webhook }: ChannelsBody) {
  if (email && email.length > 0 && !canSendMail(gateway))
    throw invalidFieldError(
      'channels.email',
      'must be empty while no mail server is configured: the operator sets smtp in headgate.yaml',
    )
  return {
    ...(email && { emails: JSON.stringify([...new Set(email)]) }),
    ...(webhook === null && { webhook_url: null, sealed_webhook_secret: null }),
    ...(webhook && toWebhookColumns(gateway, ruleId, webhook)),
  }
}

function toWebhookColumns({ vault, settings }: Gateway, ruleId: string, { url, secret }: WebhookBody) {
  const problem = findUrlProblem(URL.parse(url), settings.egress.allow_private)
  if (problem !== null) throw invalidFieldError('channels.webhook.url', problem)
  const isUnchanged = secret === undefined || (secret !== null && isMasked(secret))
  return {
    webhook_url: url,
    ...(!isUnchanged && {
      sealed_webhook_secret: secret === null ? null : vault.encrypt(secret, webhookSecretContext(ruleId)),
    }),
  }
}
