import { appendPath, formatBasicAuth, secretField, textField, urlField } from './destination.ts'
import { defineOtlpDestination } from './otlp.ts'

/** Grafana Cloud shows the attributes of the conventions as they are. */
export const grafana = defineOtlpDestination({
  type: 'grafana',
  fields: {
    apiKey: secretField,
    instanceId: textField,
    baseUrl: urlField.default('https://otlp-gateway-prod-us-west-0.grafana.net'),
  },
  secrets: ['apiKey'],
  address: 'baseUrl',
  target: ({ baseUrl }) => appendPath(baseUrl, '/otlp/v1/traces'),
  headers: ({ apiKey, instanceId }) => ({ authorization: formatBasicAuth(instanceId, apiKey) }),
  protocol: () => 'protobuf',
})
