import type { Provider, Wire, WireRequest } from '../catalog/provider.ts'
import { type JsonObject, objectOf } from '../lib/loose.ts'
import { firstPartyFields, knownBetas } from './betas.ts'

const place = '/v1/projects/{project}/locations/{region}'

const generateContent: Wire = {
  shape: ({ path, headers, body }) => {
    const { serviceTier, ...rest } = body
    return {
      path: `/publishers/google${path}`,
      headers: withLane(headers, serviceTier),
      body: withoutCallIds(rest),
    }
  },
}

/** Lanes are asked for in a header here; what was bought ahead is used up first. */
function withLane(headers: WireRequest['headers'], tier: unknown): WireRequest['headers'] {
  return typeof tier === 'string' ? { ...headers, 'x-vertex-ai-llm-shared-request-type': tier } : headers
}

/** Calls and their results have ids at the other product of this vendor; here the field is unknown, and an error. */
function withoutCallIds(body: JsonObject): JsonObject {
  if (!Array.isArray(body.contents)) return body
  const contents = body.contents.map((entry: unknown) => {
    const content = objectOf(entry)
    if (!content || !Array.isArray(content.parts)) return entry
    return { ...content, parts: content.parts.map(withoutId) }
  })
  return { ...body, contents }
}

const named = ['functionCall', 'functionResponse', 'function_call', 'function_response']

function withoutId(entry: unknown): unknown {
  const part = objectOf(entry)
  const name = part && named.find((known) => objectOf(part[known])?.id !== undefined)
  if (!part || name === undefined) return entry
  const { id: _unknownThere, ...rest } = objectOf(part[name]) ?? {}
  return { ...part, [name]: rest }
}

/** The Messages format, with the model in the path and the version in the body. */
const rawPredict: Wire = {
  shape: ({ model, stream, headers, body }) => {
    const { model: _inPath, service_tier: _unknownThere, ...rest } = body
    const betas = knownBetas(headers)
    return {
      path: `/publishers/anthropic/models/${model}:${stream ? 'streamRawPredict' : 'rawPredict'}`,
      headers: betas.length > 0 ? { 'anthropic-beta': betas.join(',') } : {},
      body: { anthropic_version: 'vertex-2023-10-16', ...rest },
    }
  },
  drops: firstPartyFields,
}

const openaiPath: Wire = {
  shape: ({ path, headers, body: { service_tier, ...body } }) => ({
    path: `/endpoints/openapi${path}`,
    headers: withLane(headers, service_tier),
    body,
  }),
}

export const vertex: Provider = {
  slug: 'google-vertex',
  name: 'Google Vertex AI',
  billsAbandoned: true,
  baseUrl: `https://{region}-aiplatform.googleapis.com${place}`,
  addresses: [
    { when: { region: 'global' }, baseUrl: `https://aiplatform.googleapis.com${place}` },
    { when: { region: 'us' }, baseUrl: `https://aiplatform.us.rep.googleapis.com${place}` },
    { when: { region: 'eu' }, baseUrl: `https://aiplatform.eu.rep.googleapis.com${place}` },
  ],
  settings: {
    region: { variables: ['GOOGLE_VERTEX_LOCATION', 'GOOGLE_CLOUD_LOCATION'], otherwise: 'global' },
    project: { variables: ['GOOGLE_VERTEX_PROJECT', 'GOOGLE_CLOUD_PROJECT'] },
  },
  keyVariable: 'GOOGLE_APPLICATION_CREDENTIALS',
  keyFile: true,
  keyHeader: 'x-goog-api-key',
  credentialForm: 'serviceAccount',
  tokenUrl: 'https://oauth2.googleapis.com/token',
  dialects: ['gemini', 'messages', 'chat'],
  wire: { gemini: generateContent, messages: rawPredict, chat: openaiPath },
  residence: {
    europe: { inside: /^(eu$|europe-)/ },
    us: { inside: /^(us$|us-)/ },
  },
  refuses: ['service_tier'],
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
