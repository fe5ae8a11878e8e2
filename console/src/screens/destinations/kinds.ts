import type { Schemas } from '../../api/client.ts'
import type { paths } from '../../api/schema.ts'

export type Destination = Schemas['ObservabilityDestination']
export type DestinationType = Destination['type']
export type CreateBody =
  paths['/observability/destinations']['post']['requestBody']['content']['application/json']

/** A field of the settings of a destination. */
export interface ConfigField {
  label: string
  isRequired?: boolean
  /** Sent once, and never shown again. */
  isSecret?: boolean
  /** The accepted values, if they are few. */
  options?: string[]
  /** The value that applies if nothing is entered. */
  fallback?: string
  hint?: string
}

export interface DestinationKind {
  label: string
  fields: Record<string, ConfigField>
}

type ConfigName<Type> = Exclude<keyof Extract<CreateBody, { type: Type }>['config'], 'headers'>

/** Every type with every field of it, in the order of the form. A test compares this with openapi.json. */
export const kinds: {
  [Type in DestinationType]: { label: string; fields: Record<ConfigName<Type>, ConfigField> }
} = {
  webhook: {
    label: 'Webhook',
    fields: {
      url: { label: 'URL', isRequired: true, hint: 'An https address that receives OTLP as JSON' },
      method: { label: 'Method', options: ['POST', 'PUT'], fallback: 'POST' },
      signingSecret: {
        label: 'Signing secret',
        isSecret: true,
        hint: 'whsec_ and the base64 of 24 to 64 random bytes. Signs the calls.',
      },
    },
  },
  'otel-collector': {
    label: 'OpenTelemetry collector',
    fields: {
      endpoint: { label: 'Endpoint', isRequired: true, hint: 'The full OTLP/HTTP URL for traces' },
      protocol: { label: 'Encoding', options: ['json', 'protobuf'], hint: 'json if none is chosen' },
      content: {
        label: 'Input and output',
        options: ['attributes', 'event'],
        hint: 'Attributes of the span if none is chosen',
      },
    },
  },
  arize: {
    label: 'Arize',
    fields: {
      apiKey: { label: 'API key', isRequired: true, isSecret: true },
      spaceKey: { label: 'Space key', isRequired: true, isSecret: true },
      modelId: { label: 'Model id', isRequired: true, hint: 'The tracing project' },
      baseUrl: { label: 'Base URL', fallback: 'https://otlp.arize.com' },
    },
  },
  braintrust: {
    label: 'Braintrust',
    fields: {
      apiKey: { label: 'API key', isRequired: true, isSecret: true },
      projectId: { label: 'Project id', isRequired: true },
      baseUrl: { label: 'Base URL', fallback: 'https://api.braintrust.dev' },
    },
  },
  clickhouse: {
    label: 'ClickHouse',
    fields: {
      host: {
        label: 'Host',
        isRequired: true,
        hint: 'A host name, with or without a port, or an https URL',
      },
      database: { label: 'Database', isRequired: true },
      username: { label: 'User name', isRequired: true },
      password: { label: 'Password', isRequired: true, isSecret: true },
      table: { label: 'Table', fallback: 'SERVICE_TRACES' },
    },
  },
  datadog: {
    label: 'Datadog',
    fields: {
      apiKey: { label: 'API key', isRequired: true, isSecret: true },
      mlApp: { label: 'ML app', isRequired: true, hint: 'The name of the application in Datadog' },
      url: { label: 'API URL', fallback: 'https://api.us5.datadoghq.com', hint: 'That of your site' },
    },
  },
  grafana: {
    label: 'Grafana Cloud',
    fields: {
      apiKey: { label: 'API key', isRequired: true, isSecret: true },
      instanceId: { label: 'Instance id', isRequired: true },
      baseUrl: {
        label: 'Base URL',
        fallback: 'https://otlp-gateway-prod-us-west-0.grafana.net',
        hint: 'That of your region',
      },
    },
  },
  langfuse: {
    label: 'Langfuse',
    fields: {
      publicKey: { label: 'Public key', isRequired: true },
      secretKey: { label: 'Secret key', isRequired: true, isSecret: true },
      baseUrl: {
        label: 'Base URL',
        fallback: 'https://us.cloud.langfuse.com',
        hint: 'That of your region, or of your own server',
      },
    },
  },
  langsmith: {
    label: 'LangSmith',
    fields: {
      apiKey: { label: 'API key', isRequired: true, isSecret: true },
      endpoint: { label: 'Endpoint', fallback: 'https://api.smith.langchain.com' },
      project: { label: 'Project', fallback: 'main' },
      workspaceId: { label: 'Workspace id' },
    },
  },
  newrelic: {
    label: 'New Relic',
    fields: {
      licenseKey: { label: 'License key', isRequired: true, isSecret: true },
      region: { label: 'Region', options: ['us', 'eu'], fallback: 'us' },
    },
  },
  opik: {
    label: 'Opik',
    fields: {
      apiKey: { label: 'API key', isRequired: true, isSecret: true },
      workspace: { label: 'Workspace', isRequired: true },
      projectName: { label: 'Project name', isRequired: true },
    },
  },
  posthog: {
    label: 'PostHog',
    fields: {
      apiKey: { label: 'API key', isRequired: true, isSecret: true },
      endpoint: { label: 'Endpoint', fallback: 'https://us.i.posthog.com' },
    },
  },
  ramp: {
    label: 'Ramp',
    fields: {
      apiKey: { label: 'API key', isRequired: true, isSecret: true },
      baseUrl: {
        label: 'Base URL',
        hint: 'The full OTLP/HTTP URL for traces. Nothing is sent without it.',
      },
    },
  },
  s3: {
    label: 'S3',
    fields: {
      bucketName: { label: 'Bucket', isRequired: true },
      accessKeyId: { label: 'Access key id', isRequired: true },
      secretAccessKey: { label: 'Secret access key', isRequired: true, isSecret: true },
      sessionToken: { label: 'Session token', isSecret: true, hint: 'Of temporary credentials' },
      region: { label: 'Region' },
      endpoint: { label: 'Endpoint', hint: 'Of S3-compatible storage' },
      prefix: { label: 'Prefix', fallback: 'service-traces' },
      pathTemplate: {
        label: 'Path',
        fallback: '{prefix}/{date}',
        hint: '{prefix} {date} {year} {month} {day} {apiKeyName} are replaced; the file name is appended',
      },
    },
  },
  sentry: {
    label: 'Sentry',
    fields: {
      dsn: { label: 'DSN', isRequired: true, isSecret: true },
      otlpEndpoint: { label: 'OTLP endpoint', isRequired: true, hint: 'The full OTLP URL for traces' },
    },
  },
  snowflake: {
    label: 'Snowflake',
    fields: {
      account: { label: 'Account', isRequired: true },
      token: { label: 'Token', isRequired: true, isSecret: true },
      database: { label: 'Database', fallback: 'SNOWFLAKE_LEARNING_DB' },
      schema: { label: 'Schema', fallback: 'PUBLIC' },
      table: { label: 'Table', fallback: 'SERVICE_TRACES' },
      warehouse: { label: 'Warehouse', fallback: 'COMPUTE_WH' },
    },
  },
  weave: {
    label: 'Weave',
    fields: {
      apiKey: { label: 'API key', isRequired: true, isSecret: true },
      entity: { label: 'Entity', isRequired: true },
      project: { label: 'Project', isRequired: true },
      baseUrl: { label: 'Base URL', fallback: 'https://trace.wandb.ai' },
    },
  },
}

export function kindOf(type: DestinationType): DestinationKind {
  return kinds[type]
}

/** Destinations of the first versions had no name. */
export function nameOf({ name, type }: Pick<Destination, 'name' | 'type'>): string {
  return name ?? kinds[type].label
}

export const kindOptions = Object.entries(kinds).map(([value, { label }]) => ({ value, label }))

/** The page of the documentation about a type. */
export function docsOf(type: DestinationType): string {
  return `docs/destinations/${type}.md`
}
