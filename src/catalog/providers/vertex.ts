import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import type { Provider, WireAdapter, WireRequest } from '../provider.ts'
import { firstPartyFields, listKnownBetas } from './betas.ts'
import { minCachedTokens } from './cached-tokens.ts'

const locationPath = '/v1/projects/{project}/locations/{region}'

const generateContent: WireAdapter = {
  adaptRequest: ({ path, headers, body }) => {
    const { serviceTier, ...rest } = body
    return {
      path: `/publishers/google${path}`,
      headers: addTierHeader(headers, serviceTier),
      body: removeCallIds(rest),
    }
  },
}

const publisherPath: WireAdapter = {
  adaptRequest: ({ path, headers, body }) => ({ path: `/publishers/google${path}`, headers, body }),
}

/** Vertex selects the service tier in a header; provisioned throughput is used first. */
function addTierHeader(headers: WireRequest['headers'], tier: unknown): WireRequest['headers'] {
  return typeof tier === 'string' ? { ...headers, 'x-vertex-ai-llm-shared-request-type': tier } : headers
}

/** Vertex rejects the ids of function calls and responses, which the Gemini API has. */
function removeCallIds(body: JsonObject): JsonObject {
  if (!Array.isArray(body.contents)) return body
  const contents = body.contents.map((entry: unknown) => {
    const content = asObject(entry)
    if (!content || !Array.isArray(content.parts)) return entry
    return { ...content, parts: content.parts.map(removeId) }
  })
  return { ...body, contents }
}

const callFields = ['functionCall', 'functionResponse', 'function_call', 'function_response']

function removeId(entry: unknown): unknown {
  const part = asObject(entry)
  const name = part && callFields.find((known) => asObject(part[known])?.id !== undefined)
  if (!part || name === undefined) return entry
  const { id: _unknownThere, ...rest } = asObject(part[name]) ?? {}
  return { ...part, [name]: rest }
}

/** The Messages format, with the model in the path and the version in the body. */
const rawPredict: WireAdapter = {
  adaptRequest: ({ model, stream, headers, body }) => {
    const { model: _inPath, service_tier: _unsupported, ...rest } = body
    const betas = listKnownBetas(headers)
    return {
      path: `/publishers/anthropic/models/${model}:${stream ? 'streamRawPredict' : 'rawPredict'}`,
      headers: betas.length > 0 ? { 'anthropic-beta': betas.join(',') } : {},
      body: { anthropic_version: 'vertex-2023-10-16', ...rest },
    }
  },
  droppedFields: firstPartyFields,
}

const openaiPath: WireAdapter = {
  adaptRequest: ({ path, headers, body: { service_tier, ...body } }) => ({
    path: `/endpoints/openapi${path}`,
    headers: addTierHeader(headers, service_tier),
    body,
  }),
}

export const vertex: Provider = {
  slug: 'google-vertex',
  telemetryName: 'gcp.vertex_ai',
  name: 'Google Vertex AI',
  billsAbandoned: true,
  baseUrl: `https://{region}-aiplatform.googleapis.com${locationPath}`,
  addresses: [
    { when: { region: 'global' }, baseUrl: `https://aiplatform.googleapis.com${locationPath}` },
    { when: { region: 'us' }, baseUrl: `https://aiplatform.us.rep.googleapis.com${locationPath}` },
    { when: { region: 'eu' }, baseUrl: `https://aiplatform.eu.rep.googleapis.com${locationPath}` },
  ],
  settings: {
    region: { variables: ['GOOGLE_VERTEX_LOCATION', 'GOOGLE_CLOUD_LOCATION'], fallback: 'global' },
    project: { variables: ['GOOGLE_VERTEX_PROJECT', 'GOOGLE_CLOUD_PROJECT'] },
  },
  keyVariable: 'GOOGLE_APPLICATION_CREDENTIALS',
  keyFile: true,
  keyHeader: 'x-goog-api-key',
  auth: { scheme: 'service-account', tokenUrl: 'https://oauth2.googleapis.com/token' },
  wireFormats: ['gemini', 'messages', 'chat', 'gemini-images', 'imagen', 'gemini-speech'],
  minCachedTokens,
  wire: {
    gemini: generateContent,
    messages: rawPredict,
    chat: openaiPath,
    'gemini-images': publisherPath,
    imagen: publisherPath,
    'gemini-speech': publisherPath,
  },
  modelList: 'vertex',
  listDialects: (model) => [/^claude-/.test(model) ? 'messages' : /^gemini-/.test(model) ? 'gemini' : 'chat'],
  dataResidency: {
    europe: { regionPattern: /^(eu$|europe-)/ },
    us: { regionPattern: /^(us$|us-)/ },
  },
  unsupportedFields: ['service_tier'],
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
