import { z } from 'zod'
import {
  appendPath,
  type Destination,
  defineDestination,
  formatBasicAuth,
  secretField,
  textField,
  urlField,
} from './destination.ts'

interface OtlpDefinition<S extends z.ZodRawShape> {
  type: string
  fields: S
  secrets?: (keyof S & string)[]
  address?: keyof S & string
  target(config: z.output<z.ZodObject<S>>): string | null
  authHeaders?(config: z.output<z.ZodObject<S>>): Record<string, string>
  method?(config: z.output<z.ZodObject<S>>): 'POST' | 'PUT'
}

/** Receivers of OTLP over HTTP differ only in address and headers. */
function defineOtlpDestination<S extends z.ZodRawShape>(definition: OtlpDefinition<S>): Destination {
  const { secrets = [], authHeaders, method, ...rest } = definition
  return defineDestination({
    ...rest,
    secrets,
    probe: (config, url) => ({
      request: {
        url,
        method: method?.(config) ?? 'POST',
        headers: { ...authHeaders?.(config), 'content-type': 'application/json' },
        body: '{"resourceSpans":[]}',
      },
      // Some reject an export without spans, but only after authenticating it.
      accepted: [400],
    }),
  })
}

export const otlpDestinations: Destination[] = [
  defineOtlpDestination({
    type: 'arize',
    fields: {
      apiKey: secretField,
      spaceKey: secretField,
      modelId: textField.describe('The tracing project'),
      baseUrl: urlField.default('https://otlp.arize.com'),
    },
    secrets: ['apiKey', 'spaceKey'],
    address: 'baseUrl',
    target: ({ baseUrl }) => appendPath(baseUrl, '/v1/traces'),
    authHeaders: ({ apiKey, spaceKey }) => ({
      authorization: apiKey,
      api_key: apiKey,
      'arize-space-id': spaceKey,
      space_id: spaceKey,
    }),
  }),
  defineOtlpDestination({
    type: 'braintrust',
    fields: {
      apiKey: secretField,
      projectId: textField,
      baseUrl: urlField.default('https://api.braintrust.dev'),
    },
    secrets: ['apiKey'],
    address: 'baseUrl',
    target: ({ baseUrl }) => appendPath(baseUrl, '/otel/v1/traces'),
    authHeaders: ({ apiKey, projectId }) => ({
      authorization: `Bearer ${apiKey}`,
      'x-bt-parent': `project_id:${projectId}`,
    }),
  }),
  defineOtlpDestination({
    type: 'grafana',
    fields: {
      apiKey: secretField,
      instanceId: textField,
      baseUrl: urlField.default('https://otlp-gateway-prod-us-west-0.grafana.net'),
    },
    secrets: ['apiKey'],
    address: 'baseUrl',
    target: ({ baseUrl }) => appendPath(baseUrl, '/otlp/v1/traces'),
    authHeaders: ({ apiKey, instanceId }) => ({ authorization: formatBasicAuth(instanceId, apiKey) }),
  }),
  defineOtlpDestination({
    type: 'langfuse',
    fields: {
      publicKey: textField,
      secretKey: secretField,
      baseUrl: urlField.default('https://us.cloud.langfuse.com'),
    },
    secrets: ['secretKey'],
    address: 'baseUrl',
    target: ({ baseUrl }) => appendPath(baseUrl, '/api/public/otel/v1/traces'),
    authHeaders: ({ publicKey, secretKey }) => ({ authorization: formatBasicAuth(publicKey, secretKey) }),
  }),
  defineOtlpDestination({
    type: 'langsmith',
    fields: {
      apiKey: secretField,
      endpoint: urlField.default('https://api.smith.langchain.com'),
      project: textField.default('main'),
      workspaceId: textField.optional(),
    },
    secrets: ['apiKey'],
    address: 'endpoint',
    target: ({ endpoint }) => appendPath(endpoint, '/otel/v1/traces'),
    authHeaders: ({ apiKey, project, workspaceId }) => ({
      'x-api-key': apiKey,
      'langsmith-project': project,
      ...(workspaceId !== undefined && { 'x-tenant-id': workspaceId }),
    }),
  }),
  defineOtlpDestination({
    type: 'newrelic',
    fields: { licenseKey: secretField, region: z.enum(['us', 'eu']).default('us') },
    secrets: ['licenseKey'],
    target: ({ region }) =>
      region === 'eu' ? 'https://otlp.eu01.nr-data.net/v1/traces' : 'https://otlp.nr-data.net/v1/traces',
    authHeaders: ({ licenseKey }) => ({ 'api-key': licenseKey }),
  }),
  defineOtlpDestination({
    type: 'opik',
    fields: { apiKey: secretField, workspace: textField, projectName: textField },
    secrets: ['apiKey'],
    target: () => 'https://www.comet.com/opik/api/v1/private/otel/v1/traces',
    authHeaders: ({ apiKey, workspace, projectName }) => ({
      authorization: apiKey,
      'comet-workspace': workspace,
      projectname: projectName,
    }),
  }),
  defineOtlpDestination({
    type: 'otel-collector',
    fields: { endpoint: urlField.describe('The full OTLP/HTTP URL for traces') },
    address: 'endpoint',
    target: ({ endpoint }) => endpoint,
  }),
  defineOtlpDestination({
    type: 'ramp',
    fields: {
      apiKey: secretField,
      baseUrl: urlField.optional().describe('The full OTLP/HTTP URL for traces; nothing is sent without it'),
    },
    secrets: ['apiKey'],
    address: 'baseUrl',
    target: ({ baseUrl }) => baseUrl ?? null,
    authHeaders: ({ apiKey }) => ({ authorization: `Bearer ${apiKey}` }),
  }),
  defineOtlpDestination({
    type: 'sentry',
    fields: {
      dsn: secretField.regex(
        /^https:\/\/[^@/\s]+@[^@/\s]+\/(?:[^@\s]+\/)?\d+$/,
        'must look like https://<key>@<host>/<project>',
      ),
      otlpEndpoint: urlField.describe('The full OTLP URL for traces'),
    },
    secrets: ['dsn'],
    address: 'otlpEndpoint',
    target: ({ otlpEndpoint }) => otlpEndpoint,
    authHeaders: ({ dsn }) => ({ 'x-sentry-auth': `sentry sentry_key=${URL.parse(dsn)?.username ?? ''}` }),
  }),
  defineOtlpDestination({
    type: 'weave',
    fields: {
      apiKey: secretField,
      entity: textField,
      project: textField,
      baseUrl: urlField.default('https://trace.wandb.ai'),
    },
    secrets: ['apiKey'],
    address: 'baseUrl',
    target: ({ baseUrl }) => appendPath(baseUrl, '/otel/v1/traces'),
    authHeaders: ({ apiKey, entity, project }) => ({
      authorization: formatBasicAuth('api', apiKey),
      project_id: `${entity}/${project}`,
    }),
  }),
  defineOtlpDestination({
    type: 'webhook',
    fields: { url: urlField, method: z.enum(['POST', 'PUT']).default('POST') },
    address: 'url',
    target: ({ url }) => url,
    method: ({ method }) => method,
  }),
]
