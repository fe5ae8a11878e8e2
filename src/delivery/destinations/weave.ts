import { appendPath, formatBasicAuth, secretField, textField, urlField } from './destination.ts'
import { countTotalTokens } from './event.ts'
import { defineOtlpDestination } from './otlp.ts'
import { prefixFields } from './otlp-fields.ts'

export const weave = defineOtlpDestination({
  type: 'weave',
  fields: {
    apiKey: secretField,
    entity: textField,
    project: textField,
    baseUrl: urlField.default('https://trace.wandb.ai'),
  },
  secrets: ['apiKey'],
  address: 'baseUrl',
  target: ({ baseUrl }) => appendPath(baseUrl, '/otel/v1/traces'),
  // Older servers read the project from a header, newer ones from the resource.
  headers: ({ apiKey, entity, project }) => ({
    authorization: formatBasicAuth('api', apiKey),
    'wandb-api-key': apiKey,
    project_id: `${entity}/${project}`,
  }),
  resource: ({ entity, project }) => ({ 'wandb.entity': entity, 'wandb.project': project }),
  protocol: () => 'protobuf',
  mapping: {
    attributes: (event) => ({
      'weave.span.kind': 'llm',
      'llm.provider': event.provider,
      'llm.usage.total_tokens': countTotalTokens(event.usage),
      'wandb.thread_id': event.sessionId ?? undefined,
      'wandb.is_turn': event.sessionId === null ? undefined : true,
      'wandb.attributes.user_id': event.externalUser ?? undefined,
      'wandb.attributes.cost': event.cost?.total,
      ...prefixFields('wandb.attributes.', event.trace.metadata),
    }),
  },
})
