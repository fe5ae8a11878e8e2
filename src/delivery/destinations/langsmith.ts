import { appendPath, secretField, textField, urlField } from './destination.ts'
import { countTotalTokens, type GenerationEvent } from './event.ts'
import { defineOtlpDestination } from './otlp.ts'
import { type SpanMessage, toChatMessages } from './otlp-content.ts'
import { formatJson, prefixFields } from './otlp-fields.ts'
import type { SpanAttributes } from './otlp-mapping.ts'

export const langsmith = defineOtlpDestination({
  type: 'langsmith',
  fields: {
    apiKey: secretField,
    endpoint: urlField.default('https://api.smith.langchain.com'),
    project: textField.default('main'),
    workspaceId: textField.optional(),
  },
  secrets: ['apiKey'],
  address: 'endpoint',
  target: ({ endpoint }) => appendPath(endpoint, '/otel/v1/traces'),
  headers: ({ apiKey, project, workspaceId }) => ({
    'x-api-key': apiKey,
    'langsmith-project': project,
    ...(workspaceId !== undefined && { 'x-tenant-id': workspaceId }),
  }),
  protocol: () => 'protobuf',
  mapping: {
    attributes: buildLangsmithAttributes,
    content: ({ input, output }) => ({
      'gen_ai.prompt': formatMessageList(input),
      'gen_ai.completion': formatMessageList(output),
    }),
    childAttributes: { 'langsmith.span.kind': 'chain' },
  },
})

function buildLangsmithAttributes(event: GenerationEvent): SpanAttributes {
  const { trace, usage, cost } = event
  return {
    'langsmith.span.kind': event.operation === 'embeddings' ? 'embedding' : 'llm',
    // Traces with the same session are a thread. Their own "session" is the project.
    'langsmith.metadata.session_id': event.sessionId ?? undefined,
    'langsmith.metadata.user_id': event.externalUser ?? undefined,
    'langsmith.span.tags': event.tags?.length ? event.tags.join(', ') : undefined,
    'langsmith.metadata.ls_provider': event.provider,
    'langsmith.metadata.ls_model_name': event.model,
    'langsmith.metadata.trace_name': trace.traceName ?? undefined,
    ...prefixFields('langsmith.metadata.', trace.metadata),
    'langsmith.usage_metadata': formatJson({
      input_tokens: usage.promptTokens,
      output_tokens: usage.completionTokens,
      total_tokens: countTotalTokens(usage),
      input_token_details: { cache_read: usage.cacheReadTokens, cache_creation: usage.cacheWriteTokens },
      output_token_details: { reasoning: usage.reasoningTokens },
      total_cost: cost?.total,
    }),
  }
}

function formatMessageList(messages: readonly SpanMessage[] | undefined): string | undefined {
  return messages && JSON.stringify({ messages: toChatMessages(messages) })
}
