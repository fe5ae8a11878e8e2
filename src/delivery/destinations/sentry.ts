import { secretField, urlField } from './destination.ts'
import type { GenerationEvent } from './event.ts'
import { defineOtlpDestination } from './otlp.ts'
import { secondsToFirstToken } from './otlp-fields.ts'
import type { SpanAttributes } from './otlp-mapping.ts'

export const sentry = defineOtlpDestination({
  type: 'sentry',
  fields: {
    dsn: secretField.regex(
      /^https:\/\/[^@/\s]+@[^@/\s]+\/(?:[^@\s]+\/)?\d+$/,
      'must look like https://<key>@<host>/<project>',
    ),
    otlpEndpoint: urlField.describe('The full OTLP URL for traces'),
  },
  secrets: ['dsn'],
  address: 'otlpEndpoint',
  target: ({ otlpEndpoint }) => otlpEndpoint,
  headers: ({ dsn }) => ({ 'x-sentry-auth': `sentry sentry_key=${URL.parse(dsn)?.username ?? ''}` }),
  protocol: () => 'protobuf',
  mapping: { attributes: buildSentryAttributes },
})

/** Attributes whose names differ from the conventions of OpenTelemetry. */
function buildSentryAttributes(event: GenerationEvent): SpanAttributes {
  return {
    'sentry.op': `gen_ai.${event.operation}`,
    'gen_ai.operation.type': 'ai_client',
    'gen_ai.response.time_to_first_token': secondsToFirstToken(event),
    'gen_ai.usage.input_tokens.cached': event.usage.cacheReadTokens,
    'gen_ai.usage.input_tokens.cache_write': event.usage.cacheWriteTokens,
    'gen_ai.usage.output_tokens.reasoning': event.usage.reasoningTokens,
    'gen_ai.cost.total_tokens': event.cost?.total,
    'gen_ai.usage.total_cost': event.cost?.total,
  }
}
