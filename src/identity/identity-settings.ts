import { z } from 'zod'
import { smtpSettings } from '../platform/mail/settings.ts'
import { secondsField } from '../platform/validation/setting-fields.ts'

/** A single address is a range of one. */
function toRange(text: string): string {
  if (text.includes('/')) return text
  return text.includes(':') ? `${text}/128` : `${text}/32`
}

/** Settings of sign-in, and of how the requests of members are recognized. */
export const identitySettings = {
  /** Reverse proxies whose `X-Forwarded-For` is believed: addresses or ranges such as 10.0.0.0/8. */
  trusted_proxies: z
    .array(z.union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()]).transform(toRange))
    .max(100)
    .default([]),
  /** Seconds for which members stay signed in, without a request and in total. */
  sessions: z
    .strictObject({
      idle_timeout: secondsField(24 * 3600, 90 * 86_400),
      lifetime: secondsField(7 * 86_400, 90 * 86_400),
    })
    .prefault({}),
  /** Mail server. No mail is sent without one. */
  smtp: smtpSettings.optional(),
  scim: z
    .strictObject({
      /** Whether the keys that a deactivation stopped work again after the reactivation. False: an admin enables each. */
      restore_keys_on_reactivation: z.boolean().default(false),
    })
    .prefault({}),
  audit: z
    .strictObject({
      /** Older entries of the audit log are deleted. Null keeps them. */
      retention_days: z.int().min(1).max(36_500).nullable().default(null),
    })
    .prefault({}),
}
