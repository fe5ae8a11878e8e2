import { z } from 'zod'
import { secretField } from './destination.ts'
import { defineOtlpDestination } from './otlp.ts'

export const newrelic = defineOtlpDestination({
  type: 'newrelic',
  fields: { licenseKey: secretField, region: z.enum(['us', 'eu']).default('us') },
  secrets: ['licenseKey'],
  target: ({ region }) =>
    region === 'eu' ? 'https://otlp.eu01.nr-data.net/v1/traces' : 'https://otlp.nr-data.net/v1/traces',
  headers: ({ licenseKey }) => ({ 'api-key': licenseKey }),
  protocol: () => 'protobuf',
  // Longer values are cut by New Relic. The messages leave room for their JSON.
  mapping: { maxValueBytes: 4095, maxContentBytes: 3000 },
  // A request has at most a megabyte.
  maxEvents: 16,
})
