import { z } from 'zod'
import { urlField } from './destination.ts'
import { defineOtlpDestination } from './otlp.ts'
import { signingSecretField, signWebhook } from './standard-webhooks.ts'

export const webhook = defineOtlpDestination({
  type: 'webhook',
  fields: {
    url: urlField,
    method: z.enum(['POST', 'PUT']).default('POST'),
    signingSecret: signingSecretField.optional(),
  },
  secrets: ['signingSecret'],
  address: 'url',
  target: ({ url }) => url,
  protocol: () => 'json',
  method: ({ method }) => method,
  sign: ({ signingSecret }, message) =>
    signingSecret === undefined ? {} : signWebhook(signingSecret, message),
  // The id of a message is that of its event: it is the same however often the event is delivered.
  maxEvents: 1,
})
