import type { Provider } from '../provider.ts'
import { responsesSearch } from './native-search.ts'

export const openai: Provider = {
  slug: 'openai',
  name: 'OpenAI',
  baseUrl: 'https://api.openai.com/v1',
  keyVariable: 'OPENAI_API_KEY',
  wireFormats: ['responses', 'chat', 'embeddings', 'images', 'speech', 'transcriptions', 'video'],
  regions: ['global'],
  dataPolicy: { training: false, retains: true, publishes: false },
  headquarters: 'US',
  datacenters: null,
  privacyPolicyUrl: 'https://openai.com/policies/privacy-policy',
  termsOfServiceUrl: 'https://openai.com/policies/row-terms-of-use',
  statusPageUrl: 'https://status.openai.com',
  author: 'openai',
  vendor: 'vendor_b',
  fileFormat: 'vendor_b',
  implicitCaching: true,
  capabilities: ['developer_role', 'max_completion_tokens', 'stream_usage'],
  signatures: 'vendor_b-responses-v1',
  unsupportedFields: ['input_type'],
  reasoningHistory: { field: 'none' },
  speech: { reports_usage: true },
  webSearch: responsesSearch,
  connectsToMcp: 'responses',
}
