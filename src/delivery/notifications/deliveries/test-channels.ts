import { z } from 'zod'
import type { Gateway } from '../../../gateway/gateway.ts'
import { channelNames, listChannels, type NotificationRule } from '../../../identity/notification-rules.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { type Message, postWebhook, sendEmail } from './message.ts'

export const channelResult = z
  .strictObject({
    channel: z.enum(channelNames),
    address: z.string(),
    delivered: z.boolean(),
    error: z.string().nullable(),
  })
  .meta({ id: 'NotificationTestResult' })

/** Sends a message that says it is a test to every address of a rule. */
export function testChannels(
  gateway: Gateway,
  rule: NotificationRule,
): Promise<z.output<typeof channelResult>[]> {
  const message = buildTestMessage(gateway, rule)
  return Promise.all(
    listChannels(rule).map(async ({ channel, address }) => {
      const error =
        channel === 'email'
          ? await sendEmail(gateway, address, message)
          : await postWebhook(gateway, rule, address, message)
      return { channel, address, delivered: error === null, error }
    }),
  )
}

function buildTestMessage({ clock }: Gateway, { id, kind }: NotificationRule): Message {
  const text = `This is a test of the notification rule ${id} (${kind}). There is nothing to do.`
  return {
    id: newUuid(),
    subject: `Headgate: test of a notification rule (${kind})`,
    text,
    event: { type: 'notification.test', timestamp: isoNow(clock), data: { rule_id: id, kind, text } },
  }
}
