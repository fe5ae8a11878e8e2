import { appendPath, secretField, textField, urlField } from './destination.ts'
import { countTotalTokens, type GenerationEvent } from './event.ts'
import { defineOtlpDestination } from './otlp.ts'
import { type ChatMessage, type SpanMessage, toChatMessages } from './otlp-content.ts'
import { formatJson } from './otlp-fields.ts'
import type { SpanAttributes } from './otlp-mapping.ts'

/** Every message is several attributes. */
const maxMessages = 100

/** Arize reads the conventions of OpenInference. */
export const arize = defineOtlpDestination({
  type: 'arize',
  fields: {
    apiKey: secretField,
    spaceKey: secretField,
    modelId: textField.describe('The tracing project'),
    baseUrl: urlField.default('https://otlp.arize.com'),
  },
  secrets: ['apiKey', 'spaceKey'],
  address: 'baseUrl',
  target: ({ baseUrl }) => appendPath(baseUrl, '/v1/traces'),
  // The names have changed: each generation of its servers reads another pair.
  headers: ({ apiKey, spaceKey }) => ({
    authorization: apiKey,
    api_key: apiKey,
    'arize-api-key': apiKey,
    space_id: spaceKey,
    'arize-space-id': spaceKey,
  }),
  resource: ({ modelId }) => ({ 'openinference.project.name': modelId, model_id: modelId }),
  protocol: () => 'protobuf',
  mapping: {
    attributes: buildArizeAttributes,
    content: ({ input, output }) => ({
      ...formatSide('input', input),
      ...formatSide('output', output),
    }),
    childAttributes: { 'openinference.span.kind': 'CHAIN' },
    // Content is sent twice: as a whole, and message by message.
    maxContentBytes: 128 * 1024,
  },
})

const spanKinds = new Map([
  ['embeddings', 'EMBEDDING'],
  ['rerank', 'RERANKER'],
])

function buildArizeAttributes(event: GenerationEvent): SpanAttributes {
  const { usage } = event
  return {
    'openinference.span.kind': spanKinds.get(event.operation) ?? 'LLM',
    'llm.model_name': event.model,
    'llm.provider': event.provider,
    'llm.system': event.provider,
    'llm.invocation_parameters': formatJson(event.parameters),
    'llm.token_count.prompt': usage.promptTokens,
    'llm.token_count.completion': usage.completionTokens,
    'llm.token_count.total': countTotalTokens(usage),
    'llm.token_count.prompt_details.cache_read': usage.cacheReadTokens,
    'llm.token_count.prompt_details.cache_write': usage.cacheWriteTokens,
    'llm.token_count.completion_details.reasoning': usage.reasoningTokens,
    'llm.cost.total': event.cost?.total,
    metadata: formatJson({ ...event.trace.metadata, trace_name: event.trace.traceName ?? undefined }),
  }
}

function formatSide(side: 'input' | 'output', messages: readonly SpanMessage[] | undefined): SpanAttributes {
  if (messages === undefined) return {}
  const chat = toChatMessages(messages)
  const listed = chat.slice(-maxMessages).map((message, at) => {
    return formatMessage(`llm.${side}_messages.${at}.message`, message)
  })
  return Object.assign(
    { [`${side}.value`]: JSON.stringify(chat), [`${side}.mime_type`]: 'application/json' },
    ...listed,
  )
}

function formatMessage(prefix: string, message: ChatMessage): SpanAttributes {
  const attributes: SpanAttributes = {
    [`${prefix}.role`]: message.role,
    [`${prefix}.content`]: message.content ?? undefined,
    [`${prefix}.tool_call_id`]: message.tool_call_id,
  }
  for (const [at, { id, function: called }] of (message.tool_calls ?? []).entries()) {
    const call = `${prefix}.tool_calls.${at}.tool_call`
    attributes[`${call}.id`] = id
    attributes[`${call}.function.name`] = called.name
    attributes[`${call}.function.arguments`] = called.arguments
  }
  return attributes
}
