import { address, destination, secret, text, under } from './destination.ts'

/** LLM Observability. */
export const datadog = destination({
  type: 'datadog',
  fields: { apiKey: secret, mlApp: text, url: address.default('https://api.us5.datadoghq.com') },
  secrets: ['apiKey'],
  address: 'url',
  target: ({ url }) => under(url, '/api/intake/llm-obs/v1/trace/spans'),
  // The intake takes no report without spans; this address says whether the key is known.
  probe: ({ apiKey, url }) => ({
    request: { url: under(url, '/api/v1/validate'), method: 'GET', headers: { 'dd-api-key': apiKey } },
  }),
})
