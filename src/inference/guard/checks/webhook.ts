import { z } from 'zod'
import { urlField } from '../../../delivery/destinations/destination.ts'
import { signingSecretField, signWebhook } from '../../../delivery/destinations/standard-webhooks.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import { fullMask } from '../../../platform/crypto/mask.ts'
import {
  buildVerdict,
  defineCheckService,
  labelOf,
  listObjects,
  ReplyFormatError,
  readSpan,
  requireBoolean,
  requireObject,
} from './service.ts'

/** A service of one's own. Its requests are signed per Standard Webhooks. */
export const webhook = defineCheckService({
  type: 'webhook',
  name: 'Webhook',
  fields: { url: urlField, signing_secret: signingSecretField.or(z.literal(fullMask)) },
  secrets: ['signing_secret'],
  address: 'url',
  canRedact: true,
  maxCharacters: 1_000_000,
  target: ({ url }) => url,
  check: async ({ url, signing_secret }, { text, direction, check, sentAt }, post) => {
    const body = JSON.stringify({ type: 'guardrail.check', data: { check, direction, text } })
    const message = { id: `msg_${newUuid()}`, sentAt, body: Buffer.from(body) }
    const reply = requireObject(await post({ url, body, headers: signWebhook(signing_secret, message) }))
    const { flagged, categories = [], spans } = reply
    if (!Array.isArray(categories)) throw new ReplyFormatError('not a list')
    const places = listObjects(spans).map((span) => readSpan(span, text.length, labelOf(span.label)))
    return buildVerdict(requireBoolean(flagged), categories, places)
  },
})
