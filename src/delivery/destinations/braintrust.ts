import { appendPath, secretField, textField, urlField } from './destination.ts'
import { countTotalTokens, type GenerationEvent } from './event.ts'
import { defineOtlpDestination } from './otlp.ts'
import { formatChat } from './otlp-content.ts'
import { formatJson, secondsToFirstToken } from './otlp-fields.ts'
import type { SpanAttributes } from './otlp-mapping.ts'

export const braintrust = defineOtlpDestination({
  type: 'braintrust',
  fields: {
    apiKey: secretField,
    projectId: textField,
    baseUrl: urlField.default('https://api.braintrust.dev'),
  },
  secrets: ['apiKey'],
  address: 'baseUrl',
  target: ({ baseUrl }) => appendPath(baseUrl, '/otel/v1/traces'),
  headers: ({ apiKey, projectId }) => ({
    authorization: `Bearer ${apiKey}`,
    'x-bt-parent': `project_id:${projectId}`,
  }),
  protocol: () => 'protobuf',
  mapping: {
    attributes: buildBraintrustAttributes,
    content: ({ input, output }) => ({
      'braintrust.input_json': formatChat(input),
      'braintrust.output_json': formatChat(output),
    }),
    childAttributes: { 'braintrust.span_attributes': '{"type":"task"}' },
  },
})

function buildBraintrustAttributes(event: GenerationEvent): SpanAttributes {
  const { usage, trace } = event
  return {
    'braintrust.span_attributes': formatJson({ type: 'llm' }),
    'braintrust.metadata': formatJson({
      ...trace.metadata,
      ...event.parameters,
      model: event.model,
      provider: event.provider,
      session_id: event.sessionId ?? undefined,
      user_id: event.externalUser ?? undefined,
      trace_name: trace.traceName ?? undefined,
    }),
    'braintrust.metrics': formatJson({
      prompt_tokens: usage.promptTokens,
      completion_tokens: usage.completionTokens,
      tokens: countTotalTokens(usage),
      prompt_cached_tokens: usage.cacheReadTokens,
      prompt_cache_creation_tokens: usage.cacheWriteTokens,
      completion_reasoning_tokens: usage.reasoningTokens,
      time_to_first_token: secondsToFirstToken(event),
      estimated_cost: event.cost?.total,
    }),
  }
}
