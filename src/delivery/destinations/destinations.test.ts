import { describe, expect, test } from 'bun:test'
import { destinations, getDestination } from './all.ts'
import type { DestinationConfig } from './destination.ts'

/** Cases by type: the minimal config, its target, and the headers that authenticate. */
const cases: Record<
  string,
  { config: DestinationConfig; target: string | null; headers?: Record<string, string> }
> = {
  arize: {
    config: { apiKey: 'the-key', spaceKey: 'the-space', modelId: 'm' },
    target: 'https://otlp.arize.com/v1/traces',
    headers: { api_key: 'the-key', space_id: 'the-space' },
  },
  braintrust: {
    config: { apiKey: 'the-key', projectId: 'p' },
    target: 'https://api.braintrust.dev/otel/v1/traces',
    headers: { authorization: 'Bearer the-key', 'x-bt-parent': 'project_id:p' },
  },
  clickhouse: {
    config: { host: 'ch.example.com', database: 'db', username: 'u', password: 'the-key' },
    target: 'https://ch.example.com:8443',
    headers: { 'x-clickhouse-user': 'u', 'x-clickhouse-key': 'the-key', 'x-clickhouse-database': 'db' },
  },
  datadog: {
    config: { apiKey: 'the-key', mlApp: 'app' },
    target: 'https://api.us5.datadoghq.com/api/intake/llm-obs/v1/trace/spans',
    headers: { 'dd-api-key': 'the-key' },
  },
  grafana: {
    config: { apiKey: 'the-key', instanceId: '42' },
    target: 'https://otlp-gateway-prod-us-west-0.grafana.net/otlp/v1/traces',
    headers: { authorization: `Basic ${btoa('42:the-key')}` },
  },
  langfuse: {
    config: { publicKey: 'pk', secretKey: 'the-key' },
    target: 'https://us.cloud.langfuse.com/api/public/otel/v1/traces',
    headers: { authorization: `Basic ${btoa('pk:the-key')}` },
  },
  langsmith: {
    config: { apiKey: 'the-key', workspaceId: 'w' },
    target: 'https://api.smith.langchain.com/otel/v1/traces',
    headers: { 'x-api-key': 'the-key', 'langsmith-project': 'main', 'x-tenant-id': 'w' },
  },
  newrelic: {
    config: { licenseKey: 'the-key' },
    target: 'https://otlp.nr-data.net/v1/traces',
    headers: { 'api-key': 'the-key' },
  },
  opik: {
    config: { apiKey: 'the-key', workspace: 'w', projectName: 'p' },
    target: 'https://www.comet.com/opik/api/v1/private/otel/v1/traces',
    headers: { authorization: 'the-key', 'comet-workspace': 'w', projectname: 'p' },
  },
  'otel-collector': {
    config: { endpoint: 'https://otel.example.com/v1/traces' },
    target: 'https://otel.example.com/v1/traces',
  },
  posthog: { config: { apiKey: 'the-key' }, target: 'https://us.i.posthog.com/batch/' },
  ramp: { config: { apiKey: 'the-key' }, target: null },
  s3: {
    config: { bucketName: 'b', accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'the-key', region: 'eu-west-1' },
    target: 'https://s3.eu-west-1.amazonaws.com',
  },
  sentry: {
    config: {
      dsn: 'https://abc@o1.ingest.sentry.io/42',
      otlpEndpoint: 'https://o1.ingest.sentry.io/api/42/integration/otlp/v1/traces/',
    },
    target: 'https://o1.ingest.sentry.io/api/42/integration/otlp/v1/traces/',
    headers: { 'x-sentry-auth': 'sentry sentry_key=abc' },
  },
  snowflake: {
    config: { account: 'My_Org-acc', token: 'the-key' },
    target: 'https://my-org-acc.snowflakecomputing.com/api/v2/statements',
    headers: { authorization: 'Bearer the-key' },
  },
  weave: {
    config: { apiKey: 'the-key', entity: 'e', project: 'p' },
    target: 'https://trace.wandb.ai/otel/v1/traces',
    headers: { authorization: `Basic ${btoa('api:the-key')}`, project_id: 'e/p' },
  },
  webhook: { config: { url: 'https://hooks.example.com/x' }, target: 'https://hooks.example.com/x' },
}

const secretWords = /key$|secret|password|token|^dsn$/i
/** Fields that identify the sender and are not secret. */
const publicWords = new Set(['accessKeyId', 'publicKey'])

test('there are seventeen kinds', () => {
  expect(destinations.map((kind) => kind.type).sort()).toEqual(Object.keys(cases).sort())
  expect(destinations).toHaveLength(17)
})

for (const [type, { config: sent, target, headers }] of Object.entries(cases)) {
  describe(type, () => {
    const kind = getDestination(type)
    const parse = (more: object = {}) => kind.config.parse({ ...sent, ...more }) as DestinationConfig

    test('the minimal config is valid, and every field of it is required', () => {
      expect(kind.config.safeParse(sent).success).toBe(true)
      for (const field of Object.keys(sent)) {
        const schema = kind.config.shape[field]
        if (schema === undefined) throw new Error(`${field} is not in the schema`)
        const { [field]: _, ...rest } = sent
        const optional = ['workspaceId', 'region'].includes(field)
        expect({ field, enough: kind.config.safeParse(rest).success }).toEqual({ field, enough: optional })
      }
    })

    test('S12 every field named like a secret is one', () => {
      const named = Object.keys(kind.config.shape).filter(
        (field) => secretWords.test(field) && !publicWords.has(field),
      )
      expect([...kind.secrets].sort()).toEqual(named.sort())
    })

    test('it has the expected target', () => {
      expect(kind.target(parse())).toBe(target)
    })

    test('R12 unknown fields are rejected, headers are accepted', () => {
      expect(kind.config.safeParse({ ...sent, color: 'red' }).success).toBe(false)
      expect(kind.config.safeParse({ ...sent, headers: { 'X-Team': 'a' } }).success).toBe(true)
    })

    test('S6 a test request goes to the same origin, authenticated and marked', async () => {
      const config = parse({
        headers: { 'X-Team': 'blue', Authorization: 'custom' },
        ...(target === null && { baseUrl: 'https://ramp.example.com/otlp' }),
      })
      const to = kind.target(config) ?? ''
      const { request } = await kind.probe(config, to)
      expect(new URL(request.url).origin).toBe(new URL(to).origin)
      expect(request.headers).toMatchObject({ 'x-team': 'blue', 'x-test-connection': 'true', ...headers })
    })
  })
}

describe('headers', () => {
  const { config } = getDestination('webhook')
  const withHeaders = (headers: unknown) =>
    config.safeParse({ url: 'https://hooks.example.com/x', headers }).success

  test.each([
    ['the host', { Host: 'evil.example' }],
    ['the length', { 'content-length': '0' }],
    ['the framing', { 'Transfer-Encoding': 'chunked' }],
    ['a proxy', { 'Proxy-Authorization': 'x' }],
    ['a line break', { 'x-a': 'a\r\nx-b: c' }],
    ['a name with a space', { 'x a': 'b' }],
    ['a value that is no text', { 'x-a': 1 }],
    ['the same name twice', { 'x-a': '1', 'X-A': '2' }],
    ['too many', Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`x-${i}`, 'v']))],
  ])('S13 %s cannot be set', (_, headers) => {
    expect(withHeaders(headers)).toBe(false)
  })

  test('an empty map is valid', () => {
    expect(withHeaders({})).toBe(true)
  })
})

test('the storage test is signed for its host, and does not contain the secret', async () => {
  const kind = getDestination('s3')
  const config = kind.config.parse({
    bucketName: 'traces',
    accessKeyId: 'AKIAEXAMPLE',
    secretAccessKey: 'very-secret-access-key',
    sessionToken: 'session',
    endpoint: 'https://minio.example.com:9000',
  }) as DestinationConfig
  const { request } = await kind.probe(config, kind.target(config) ?? '')
  const url = new URL(request.url)
  expect(url.origin).toBe('https://minio.example.com:9000')
  expect(url.pathname).toBe('/traces/service-traces/headgate-connection-test.json')
  expect(url.searchParams.get('X-Amz-Credential')).toStartWith('AKIAEXAMPLE/')
  expect(url.searchParams.get('X-Amz-Security-Token')).toBe('session')
  expect(request.url).not.toContain('very-secret')
  expect(request.method).toBe('PUT')
})
