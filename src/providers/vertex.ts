import type { Provider } from '../catalog/provider.ts'

export const vertex: Provider = {
  slug: 'google-vertex',
  name: 'Google Vertex AI',
  billsAbandoned: true,
  baseUrl:
    'https://{GOOGLE_VERTEX_LOCATION}-aiplatform.googleapis.com/v1/projects/{GOOGLE_VERTEX_PROJECT}/locations/{GOOGLE_VERTEX_LOCATION}',
  keyVariable: 'GOOGLE_APPLICATION_CREDENTIALS',
  dialects: ['gemini', 'messages'],
  regions: ['global'],
  // Caches prompts for up to a day unless the project has switched that off.
  dataPolicy: { training: false, retains: true, publishes: false },
  headquarters: 'US',
  datacenters: null,
  privacyPolicyUrl: 'https://policies.google.com/privacy',
  termsOfServiceUrl: 'https://cloud.google.com/terms/service-terms',
  statusPageUrl: 'https://status.cloud.google.com',
  implicitCaching: true,
}
