import { z } from 'zod'
import { address, basic, type Destination, destination, secret, text, under } from './destination.ts'

interface OtlpDeclaration<S extends z.ZodRawShape> {
  type: string
  fields: S
  secrets?: (keyof S & string)[]
  address?: keyof S & string
  target(config: z.output<z.ZodObject<S>>): string | null
  signIn?(config: z.output<z.ZodObject<S>>): Record<string, string>
  method?(config: z.output<z.ZodObject<S>>): 'POST' | 'PUT'
}

/** What takes OTLP over HTTP differs in its address and its headers alone. */
function otlp<S extends z.ZodRawShape>(declaration: OtlpDeclaration<S>): Destination {
  const { secrets = [], signIn, method, ...rest } = declaration
  return destination({
    ...rest,
    secrets,
    probe: (config, url) => ({
      request: {
        url,
        method: method?.(config) ?? 'POST',
        headers: { ...signIn?.(config), 'content-type': 'application/json' },
        body: '{"resourceSpans":[]}',
      },
      // Some refuse an export without spans, but only once they know who sent it.
      accepted: [400],
    }),
  })
}

export const otlpDestinations: Destination[] = [
  otlp({
    type: 'arize',
    fields: {
      apiKey: secret,
      spaceKey: secret,
      modelId: text.describe('The tracing project'),
      baseUrl: address.default('https://otlp.arize.com'),
    },
    secrets: ['apiKey', 'spaceKey'],
    address: 'baseUrl',
    target: ({ baseUrl }) => under(baseUrl, '/v1/traces'),
    signIn: ({ apiKey, spaceKey }) => ({
      authorization: apiKey,
      api_key: apiKey,
      'arize-space-id': spaceKey,
      space_id: spaceKey,
    }),
  }),
  otlp({
    type: 'braintrust',
    fields: {
      apiKey: secret,
      projectId: text,
      baseUrl: address.default('https://api.braintrust.dev'),
    },
    secrets: ['apiKey'],
    address: 'baseUrl',
    target: ({ baseUrl }) => under(baseUrl, '/otel/v1/traces'),
    signIn: ({ apiKey, projectId }) => ({
      authorization: `Bearer ${apiKey}`,
      'x-bt-parent': `project_id:${projectId}`,
    }),
  }),
  otlp({
    type: 'grafana',
    fields: {
      apiKey: secret,
      instanceId: text,
      baseUrl: address.default('https://otlp-gateway-prod-us-west-0.grafana.net'),
    },
    secrets: ['apiKey'],
    address: 'baseUrl',
    target: ({ baseUrl }) => under(baseUrl, '/otlp/v1/traces'),
    signIn: ({ apiKey, instanceId }) => ({ authorization: basic(instanceId, apiKey) }),
  }),
  otlp({
    type: 'langfuse',
    fields: {
      publicKey: text,
      secretKey: secret,
      baseUrl: address.default('https://us.cloud.langfuse.com'),
    },
    secrets: ['secretKey'],
    address: 'baseUrl',
    target: ({ baseUrl }) => under(baseUrl, '/api/public/otel/v1/traces'),
    signIn: ({ publicKey, secretKey }) => ({ authorization: basic(publicKey, secretKey) }),
  }),
  otlp({
    type: 'langsmith',
    fields: {
      apiKey: secret,
      endpoint: address.default('https://api.smith.langchain.com'),
      project: text.default('main'),
      workspaceId: text.optional(),
    },
    secrets: ['apiKey'],
    address: 'endpoint',
    target: ({ endpoint }) => under(endpoint, '/otel/v1/traces'),
    signIn: ({ apiKey, project, workspaceId }) => ({
      'x-api-key': apiKey,
      'langsmith-project': project,
      ...(workspaceId !== undefined && { 'x-tenant-id': workspaceId }),
    }),
  }),
  otlp({
    type: 'newrelic',
    fields: { licenseKey: secret, region: z.enum(['us', 'eu']).default('us') },
    secrets: ['licenseKey'],
    target: ({ region }) =>
      region === 'eu' ? 'https://otlp.eu01.nr-data.net/v1/traces' : 'https://otlp.nr-data.net/v1/traces',
    signIn: ({ licenseKey }) => ({ 'api-key': licenseKey }),
  }),
  otlp({
    type: 'opik',
    fields: { apiKey: secret, workspace: text, projectName: text },
    secrets: ['apiKey'],
    target: () => 'https://www.comet.com/opik/api/v1/private/otel/v1/traces',
    signIn: ({ apiKey, workspace, projectName }) => ({
      authorization: apiKey,
      'comet-workspace': workspace,
      projectname: projectName,
    }),
  }),
  otlp({
    type: 'otel-collector',
    fields: { endpoint: address.describe('The OTLP/HTTP URL for traces, whole') },
    address: 'endpoint',
    target: ({ endpoint }) => endpoint,
  }),
  otlp({
    type: 'ramp',
    fields: {
      apiKey: secret,
      baseUrl: address.optional().describe('The OTLP/HTTP URL for traces, whole; nothing is sent without it'),
    },
    secrets: ['apiKey'],
    address: 'baseUrl',
    target: ({ baseUrl }) => baseUrl ?? null,
    signIn: ({ apiKey }) => ({ authorization: `Bearer ${apiKey}` }),
  }),
  otlp({
    type: 'sentry',
    fields: {
      dsn: secret.regex(
        /^https:\/\/[^@/\s]+@[^@/\s]+\/(?:[^@\s]+\/)?\d+$/,
        'must look like https://<key>@<host>/<project>',
      ),
      otlpEndpoint: address.describe('The OTLP URL for traces, whole'),
    },
    secrets: ['dsn'],
    address: 'otlpEndpoint',
    target: ({ otlpEndpoint }) => otlpEndpoint,
    signIn: ({ dsn }) => ({ 'x-sentry-auth': `sentry sentry_key=${URL.parse(dsn)?.username ?? ''}` }),
  }),
  otlp({
    type: 'weave',
    fields: {
      apiKey: secret,
      entity: text,
      project: text,
      baseUrl: address.default('https://trace.wandb.ai'),
    },
    secrets: ['apiKey'],
    address: 'baseUrl',
    target: ({ baseUrl }) => under(baseUrl, '/otel/v1/traces'),
    signIn: ({ apiKey, entity, project }) => ({
      authorization: basic('api', apiKey),
      project_id: `${entity}/${project}`,
    }),
  }),
  otlp({
    type: 'webhook',
    fields: { url: address, method: z.enum(['POST', 'PUT']).default('POST') },
    address: 'url',
    target: ({ url }) => url,
    method: ({ method }) => method,
  }),
]
