import type { Provider } from '../catalog/provider.ts'

export const bedrock: Provider = {
  slug: 'amazon-bedrock',
  name: 'Amazon Bedrock',
  billsAbandoned: true,
  baseUrl: 'https://bedrock-runtime.{AWS_REGION}.amazonaws.com',
  // Not AWS_ACCESS_KEY_ID: many machines have that one for other reasons.
  keyVariable: 'AWS_BEARER_TOKEN_BEDROCK',
  dialects: ['messages', 'chat'],
  regions: ['global'],
  dataPolicy: { training: false, retains: false, publishes: false },
  headquarters: 'US',
  datacenters: null,
  privacyPolicyUrl: 'https://aws.amazon.com/privacy',
  termsOfServiceUrl: 'https://aws.amazon.com/service-terms',
  statusPageUrl: 'https://health.aws.amazon.com/health/status',
  author: 'amazon',
}
