import { secretField, textField } from './destination.ts'
import { defineOtlpDestination } from './otlp.ts'

export const opik = defineOtlpDestination({
  type: 'opik',
  fields: { apiKey: secretField, workspace: textField, projectName: textField },
  secrets: ['apiKey'],
  target: () => 'https://www.comet.com/opik/api/v1/private/otel/v1/traces',
  headers: ({ apiKey, workspace, projectName }) => ({
    authorization: apiKey,
    'comet-workspace': workspace,
    projectname: projectName,
  }),
  protocol: () => 'protobuf',
  // It reads messages, tokens, cost and conversation from the conventions; the thread of older versions is this.
  mapping: { attributes: ({ sessionId }) => ({ thread_id: sessionId ?? undefined }) },
})
