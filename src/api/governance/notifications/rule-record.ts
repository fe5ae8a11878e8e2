import { z } from 'zod'
import { signingSecretField } from '../../../delivery/destinations/standard-webhooks.ts'
import { managedBy } from '../../../http/managed-by.ts'
import {
  type NotificationRule,
  notificationKindNames,
  notificationKinds,
  openWebhookSecret,
} from '../../../identity/notification-rules.ts'
import type { Vault } from '../../../platform/crypto/crypto.ts'
import { isMasked, maskSecret } from '../../../platform/crypto/mask.ts'
import { decodeList } from '../../../platform/db/values.ts'

const maxEmails = 20

const thresholdDescription = notificationKindNames
  .map((kind) => {
    const { unit, defaultThreshold, min, max } = notificationKinds[kind]
    return `${kind}: ${unit}, ${min} to ${max}, default ${defaultThreshold}`
  })
  .join('; ')

export const ruleRecord = z
  .strictObject({
    id: z.uuid(),
    kind: z.enum(notificationKindNames),
    threshold: z.number().describe(thresholdDescription),
    workspace_id: z.uuid().nullable().describe('Null for the whole organization.'),
    channels: z
      .strictObject({
        email: z.array(z.string()),
        webhook: z
          .strictObject({ url: z.string(), secret: z.string().nullable().describe('Masked.') })
          .nullable(),
      })
      .describe('Besides the list of notifications, which has them all.'),
    digest: z.enum(['immediate', 'daily']).describe('`daily`: one message a day, at 08:00 UTC.'),
    enabled: z.boolean(),
    created_at: z.string(),
    updated_at: z.string(),
    managed_by: managedBy,
  })
  .meta({ id: 'NotificationRule' })

const email = z
  .string()
  .trim()
  .toLowerCase()
  .max(254)
  .pipe(z.email('must be an e-mail address'))
  .meta({ override: { type: 'string', pattern: z.regexes.email.source, maxLength: 254 } })

const webhook = z.strictObject({
  url: z.string().max(2000).describe('Must be https, unless the operator allows the address.'),
  secret: z
    .union([
      signingSecretField,
      z.string().refine(isMasked, 'must be a secret of Standard Webhooks (whsec_...)'),
    ])
    .nullish()
    .describe('Signs the requests. A masked or absent secret stays unchanged, null removes it.'),
})

const channels = z.strictObject({
  email: z.array(email).max(maxEmails).optional(),
  webhook: webhook.nullish(),
})

export type WebhookBody = z.output<typeof webhook>
export type ChannelsBody = z.output<typeof channels>

const commonFields = {
  threshold: z.number().optional().describe(thresholdDescription),
  channels: channels.optional(),
  digest: ruleRecord.shape.digest.optional(),
  enabled: z.boolean().optional(),
}

export const createRuleBody = z.strictObject({
  kind: ruleRecord.shape.kind,
  workspace_id: z
    .uuid()
    .nullish()
    .describe('Not for low_balance and provider_failing, which concern the whole organization.'),
  ...commonFields,
})

export const updateRuleBody = z.strictObject(commonFields)

export function toRuleRecord(vault: Vault, row: NotificationRule): z.input<typeof ruleRecord> {
  const secret = openWebhookSecret(vault, row)
  return {
    id: row.id,
    kind: row.kind,
    threshold: row.threshold,
    workspace_id: row.workspace_id,
    channels: {
      email: decodeList<string>(row.emails) ?? [],
      webhook:
        row.webhook_url === null
          ? null
          : { url: row.webhook_url, secret: secret === null ? null : maskSecret(secret) },
    },
    digest: row.digest,
    enabled: row.enabled === 1,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}
