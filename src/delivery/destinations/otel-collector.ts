import { z } from 'zod'
import { urlField } from './destination.ts'
import { defineOtlpDestination } from './otlp.ts'

export const otelCollector = defineOtlpDestination({
  type: 'otel-collector',
  fields: {
    endpoint: urlField.describe('The full OTLP/HTTP URL for traces'),
    protocol: z.enum(['json', 'protobuf']).optional().describe('The encoding; json if absent'),
  },
  address: 'endpoint',
  target: ({ endpoint }) => endpoint,
  protocol: ({ protocol = 'json' }) => protocol,
})
