import { secretField, urlField } from './destination.ts'
import { defineOtlpDestination } from './otlp.ts'

export const ramp = defineOtlpDestination({
  type: 'ramp',
  fields: {
    apiKey: secretField,
    baseUrl: urlField.optional().describe('The full OTLP/HTTP URL for traces; nothing is sent without it'),
  },
  secrets: ['apiKey'],
  address: 'baseUrl',
  target: ({ baseUrl }) => baseUrl ?? null,
  headers: ({ apiKey }) => ({ authorization: `Bearer ${apiKey}` }),
  protocol: () => 'json',
})
