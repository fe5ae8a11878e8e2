import { appendPath, formatBasicAuth, secretField, textField, urlField } from './destination.ts'
import { countTotalTokens, type GenerationEvent } from './event.ts'
import { defineOtlpDestination } from './otlp.ts'
import { formatChat } from './otlp-content.ts'
import { formatJson, prefixFields, splitUsage } from './otlp-fields.ts'
import type { SpanAttributes } from './otlp-mapping.ts'

export const langfuse = defineOtlpDestination({
  type: 'langfuse',
  fields: {
    publicKey: textField,
    secretKey: secretField,
    baseUrl: urlField.default('https://us.cloud.langfuse.com'),
  },
  secrets: ['secretKey'],
  address: 'baseUrl',
  target: ({ baseUrl }) => appendPath(baseUrl, '/api/public/otel/v1/traces'),
  headers: ({ publicKey, secretKey }) => ({
    authorization: formatBasicAuth(publicKey, secretKey),
    // Without it, traces appear minutes later.
    'x-langfuse-ingestion-version': '4',
  }),
  protocol: () => 'protobuf',
  mapping: {
    attributes: buildLangfuseAttributes,
    content: ({ input, output }) => ({
      'langfuse.observation.input': formatChat(input),
      'langfuse.observation.output': formatChat(output),
    }),
    childAttributes: { 'langfuse.observation.type': 'span' },
  },
})

function buildLangfuseAttributes(event: GenerationEvent): SpanAttributes {
  const { trace, usage, cost, error, firstTokenAt } = event
  const { input, cacheRead, cacheWrite, output, reasoning } = splitUsage(usage)
  return {
    'langfuse.trace.name': trace.traceName ?? undefined,
    'langfuse.trace.tags': event.tags?.length ? [...event.tags] : undefined,
    ...prefixFields('langfuse.trace.metadata.', trace.metadata),
    'langfuse.observation.type': event.operation === 'embeddings' ? 'embedding' : 'generation',
    'langfuse.observation.model.name': event.model,
    'langfuse.observation.model.parameters': formatJson(event.parameters),
    'langfuse.observation.usage_details': formatJson({
      input,
      input_cached_tokens: cacheRead,
      input_cache_creation: cacheWrite,
      output,
      output_reasoning_tokens: reasoning,
      total: countTotalTokens(usage),
    }),
    'langfuse.observation.cost_details': cost ? formatJson({ total: cost.total }) : undefined,
    'langfuse.observation.completion_start_time':
      firstTokenAt === null ? undefined : new Date(firstTokenAt).toISOString(),
    'langfuse.observation.level': error ? 'ERROR' : undefined,
    'langfuse.observation.status_message': error?.message,
  }
}
