import { z } from 'zod'
import { urlField } from './destination.ts'
import { defineOtlpDestination } from './otlp.ts'

export const otelCollector = defineOtlpDestination({
  type: 'otel-collector',
  fields: {
    endpoint: urlField.describe('The full OTLP/HTTP URL for traces'),
    protocol: z.enum(['json', 'protobuf']).optional().describe('The encoding; json if absent'),
    content: z
      .enum(['attributes', 'event'])
      .optional()
      .describe('Input and output as attributes of the span or as an event of it; attributes if absent'),
  },
  address: 'endpoint',
  target: ({ endpoint }) => endpoint,
  protocol: ({ protocol = 'json' }) => protocol,
  hasContentEvent: ({ content }) => content === 'event',
})
