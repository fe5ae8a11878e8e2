import { appendPath, defineDestination, secretField, textField, urlField } from './destination.ts'

/** LLM Observability. */
export const datadog = defineDestination({
  type: 'datadog',
  fields: { apiKey: secretField, mlApp: textField, url: urlField.default('https://api.us5.datadoghq.com') },
  secrets: ['apiKey'],
  address: 'url',
  target: ({ url }) => appendPath(url, '/api/intake/llm-obs/v1/trace/spans'),
  // The intake rejects exports without spans; this endpoint validates the key.
  probe: ({ apiKey, url }) => ({
    request: { url: appendPath(url, '/api/v1/validate'), method: 'GET', headers: { 'dd-api-key': apiKey } },
  }),
})
