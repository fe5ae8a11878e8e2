import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newGenerationEvent } from '../../../test/support/generation-event.ts'
import {
  decodeExports,
  hasOtlpDecoder,
  listSpans,
  type OtlpRequest,
  readAttributes,
} from '../../../test/support/otlp.ts'
import { type EgressRequest, sendBuffered } from '../../platform/http/egress-client.ts'
import { getDestination } from './all.ts'
import type { DestinationConfig } from './destination.ts'

/** The published interface of a product: its address, its authentication, and the place of each fact. */
interface Vendor {
  config: DestinationConfig
  url: string
  contentType: 'application/json' | 'application/x-protobuf'
  headers: Record<string, string>
  resource?: Record<string, unknown>
  /** Attributes of the request; a JSON text is given as its value. */
  attributes: Record<string, unknown>
  /** Attributes of the spans below it. */
  child?: Record<string, unknown>
}

const chatInput = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: "How's the weather in 'Rome'; DROP TABLE x; --?" },
]
const toolCall = {
  id: 'call_1',
  type: 'function',
  function: { name: 'weather', arguments: '{"city":"Rome"}' },
}
const chatOutput = [
  {
    role: 'assistant',
    content: 'Sunny ☀️',
    reasoning: 'Look it up.',
    tool_calls: [toolCall],
  },
]

/** Model, tokens, cost, input, output, session and user by the conventions. */
const conventions = {
  'gen_ai.response.model': 'openai/gpt-5-mini',
  'gen_ai.usage.input_tokens': 120,
  'gen_ai.usage.output_tokens': 30,
  'gen_ai.usage.cost': 0.00000015,
  'session.id': 'session-1',
  'user.id': 'user-1',
  'gen_ai.conversation.id': 'session-1',
}
const conventionContent = {
  'gen_ai.input.messages': chatInput.map(({ role, content }) => ({
    role,
    parts: [{ type: 'text', content }],
  })),
}

const vendors: Record<string, Vendor> = {
  arize: {
    config: {
      apiKey: 'the-key',
      spaceKey: 'the-space',
      modelId: 'project',
      baseUrl: 'https://otlp.arize.com',
    },
    url: 'https://otlp.arize.com/v1/traces',
    contentType: 'application/x-protobuf',
    headers: { 'arize-api-key': 'the-key', 'arize-space-id': 'the-space', authorization: 'the-key' },
    resource: { 'openinference.project.name': 'project', model_id: 'project' },
    attributes: {
      'openinference.span.kind': 'LLM',
      'llm.model_name': 'openai/gpt-5-mini',
      'llm.provider': 'openai',
      'llm.token_count.prompt': 120,
      'llm.token_count.completion': 30,
      'llm.token_count.total': 150,
      'llm.token_count.prompt_details.cache_read': 50,
      'llm.cost.total': 0.00000015,
      'llm.invocation_parameters': newGenerationEvent().parameters,
      'input.value': chatInput,
      'input.mime_type': 'application/json',
      'output.value': chatOutput,
      'llm.input_messages.1.message.role': 'user',
      'llm.input_messages.1.message.content': chatInput[1]?.content,
      'llm.output_messages.0.message.tool_calls.0.tool_call.function.name': 'weather',
      'session.id': 'session-1',
      'user.id': 'user-1',
    },
    child: { 'openinference.span.kind': 'CHAIN', 'session.id': 'session-1' },
  },
  braintrust: {
    config: { apiKey: 'the-key', projectId: 'p', baseUrl: 'https://api.braintrust.dev' },
    url: 'https://api.braintrust.dev/otel/v1/traces',
    contentType: 'application/x-protobuf',
    headers: { authorization: 'Bearer the-key', 'x-bt-parent': 'project_id:p' },
    attributes: {
      'braintrust.span_attributes': { type: 'llm' },
      'braintrust.input_json': chatInput,
      'braintrust.output_json': chatOutput,
      'braintrust.metadata': {
        ...newGenerationEvent().trace.metadata,
        ...newGenerationEvent().parameters,
        model: 'openai/gpt-5-mini',
        provider: 'openai',
        session_id: 'session-1',
        user_id: 'user-1',
        trace_name: 'checkout',
      },
      'braintrust.metrics': {
        prompt_tokens: 120,
        completion_tokens: 30,
        tokens: 150,
        prompt_cached_tokens: 50,
        prompt_cache_creation_tokens: 20,
        completion_reasoning_tokens: 10,
        time_to_first_token: 0.4,
        estimated_cost: 0.00000015,
      },
    },
    child: { 'braintrust.span_attributes': { type: 'task' } },
  },
  grafana: {
    config: {
      apiKey: 'the-key',
      instanceId: '42',
      baseUrl: 'https://otlp-gateway-prod-eu-west-2.grafana.net',
    },
    url: 'https://otlp-gateway-prod-eu-west-2.grafana.net/otlp/v1/traces',
    contentType: 'application/x-protobuf',
    headers: { authorization: `Basic ${btoa('42:the-key')}` },
    attributes: { ...conventions, ...conventionContent },
  },
  langfuse: {
    config: { publicKey: 'pk', secretKey: 'the-key', baseUrl: 'https://us.cloud.langfuse.com' },
    url: 'https://us.cloud.langfuse.com/api/public/otel/v1/traces',
    contentType: 'application/x-protobuf',
    headers: { authorization: `Basic ${btoa('pk:the-key')}`, 'x-langfuse-ingestion-version': '4' },
    attributes: {
      'langfuse.trace.name': 'checkout',
      'langfuse.trace.metadata.team': 'blue',
      'langfuse.observation.type': 'generation',
      'langfuse.observation.model.name': 'openai/gpt-5-mini',
      'langfuse.observation.model.parameters': newGenerationEvent().parameters,
      'langfuse.observation.usage_details': {
        input: 50,
        input_cached_tokens: 50,
        input_cache_creation: 20,
        output: 20,
        output_reasoning_tokens: 10,
        total: 150,
      },
      'langfuse.observation.cost_details': { total: 0.00000015 },
      'langfuse.observation.completion_start_time': '2026-11-16T10:00:00.650Z',
      'langfuse.observation.input': chatInput,
      'langfuse.observation.output': chatOutput,
      'session.id': 'session-1',
      'user.id': 'user-1',
    },
    child: { 'langfuse.observation.type': 'span', 'session.id': 'session-1', 'user.id': 'user-1' },
  },
  langsmith: {
    config: {
      apiKey: 'the-key',
      endpoint: 'https://api.smith.langchain.com',
      project: 'main',
      workspaceId: 'w',
    },
    url: 'https://api.smith.langchain.com/otel/v1/traces',
    contentType: 'application/x-protobuf',
    headers: { 'x-api-key': 'the-key', 'langsmith-project': 'main', 'x-tenant-id': 'w' },
    attributes: {
      'langsmith.span.kind': 'llm',
      'langsmith.metadata.session_id': 'session-1',
      'langsmith.metadata.user_id': 'user-1',
      'langsmith.metadata.team': 'blue',
      'gen_ai.prompt': { messages: chatInput },
      'gen_ai.completion': { messages: chatOutput },
      'gen_ai.request.model': 'openai/gpt-5-mini:floor',
      'gen_ai.usage.input_tokens': 120,
      'langsmith.usage_metadata': {
        input_tokens: 120,
        output_tokens: 30,
        total_tokens: 150,
        input_token_details: { cache_read: 50, cache_creation: 20 },
        output_token_details: { reasoning: 10 },
        total_cost: 0.00000015,
      },
    },
    child: { 'langsmith.span.kind': 'chain' },
  },
  newrelic: {
    config: { licenseKey: 'the-key', region: 'eu' },
    url: 'https://otlp.eu01.nr-data.net/v1/traces',
    contentType: 'application/x-protobuf',
    headers: { 'api-key': 'the-key' },
    attributes: { ...conventions, ...conventionContent },
  },
  opik: {
    config: { apiKey: 'the-key', workspace: 'w', projectName: 'p' },
    url: 'https://www.comet.com/opik/api/v1/private/otel/v1/traces',
    contentType: 'application/x-protobuf',
    headers: { authorization: 'the-key', 'comet-workspace': 'w', projectname: 'p' },
    attributes: { ...conventions, ...conventionContent, thread_id: 'session-1' },
  },
  'otel-collector': {
    config: { endpoint: 'https://otel.example.com/v1/traces' },
    url: 'https://otel.example.com/v1/traces',
    contentType: 'application/json',
    headers: {},
    attributes: { ...conventions, ...conventionContent },
  },
  ramp: {
    config: { apiKey: 'the-key', baseUrl: 'https://ramp.example.com/otlp' },
    url: 'https://ramp.example.com/otlp',
    contentType: 'application/json',
    headers: { authorization: 'Bearer the-key' },
    attributes: { ...conventions, ...conventionContent },
  },
  sentry: {
    config: {
      dsn: 'https://abc@o1.ingest.sentry.io/42',
      otlpEndpoint: 'https://o1.ingest.sentry.io/api/42/integration/otlp/v1/traces/',
    },
    url: 'https://o1.ingest.sentry.io/api/42/integration/otlp/v1/traces/',
    contentType: 'application/x-protobuf',
    headers: { 'x-sentry-auth': 'sentry sentry_key=abc' },
    attributes: {
      ...conventions,
      ...conventionContent,
      'sentry.op': 'gen_ai.chat',
      'gen_ai.operation.type': 'ai_client',
      'gen_ai.cost.total_tokens': 0.00000015,
      'gen_ai.usage.input_tokens.cached': 50,
      'gen_ai.response.time_to_first_token': 0.4,
    },
  },
  weave: {
    config: { apiKey: 'the-key', entity: 'e', project: 'p', baseUrl: 'https://trace.wandb.ai' },
    url: 'https://trace.wandb.ai/otel/v1/traces',
    contentType: 'application/x-protobuf',
    headers: {
      'wandb-api-key': 'the-key',
      authorization: `Basic ${btoa('api:the-key')}`,
      project_id: 'e/p',
    },
    resource: { 'wandb.entity': 'e', 'wandb.project': 'p' },
    attributes: {
      ...conventionContent,
      'wandb.thread_id': 'session-1',
      'wandb.is_turn': true,
      'wandb.attributes.cost': 0.00000015,
      'wandb.attributes.user_id': 'user-1',
      'gen_ai.response.model': 'openai/gpt-5-mini',
      'gen_ai.usage.prompt_tokens': 120,
      'gen_ai.usage.completion_tokens': 30,
      'llm.usage.total_tokens': 150,
    },
  },
  webhook: {
    config: { url: 'https://hooks.example.com/x', method: 'PUT' },
    url: 'https://hooks.example.com/x',
    contentType: 'application/json',
    headers: {},
    attributes: { ...conventions, ...conventionContent },
  },
}

interface Received {
  method: string
  path: string
  headers: Headers
  bytes: Uint8Array
}

let received: Received[] = []
let server: ReturnType<typeof Bun.serve>
/** Exports of each kind, decoded once; the decoder takes a while to start. */
let decoded = new Map<string, OtlpRequest>()

beforeAll(async () => {
  server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const { pathname } = new URL(request.url)
      const bytes = new Uint8Array(await request.arrayBuffer())
      received.push({ method: request.method, path: pathname, headers: request.headers, bytes })
      return new Response()
    },
  })
  if (hasOtlpDecoder) decoded = await decodeAll()
})
afterAll(() => server.stop(true))

async function decodeAll(): Promise<Map<string, OtlpRequest>> {
  const bodies = []
  for (const [type, { config, contentType }] of Object.entries(vendors)) {
    const { bytes } = await deliver(await encode(type, config))
    bodies.push({ contentType, bytes })
  }
  const requests = await decodeExports(bodies)
  return new Map(Object.keys(vendors).map((type, at) => [type, requests[at]!]))
}

/** Sends a request to the loopback server in place of its origin. */
async function deliver(request: EgressRequest): Promise<Received> {
  received = []
  const { host, origin } = server.url
  const url = request.url.replace(new URL(request.url).origin, origin)
  const options = { allowPrivate: [host], timeoutMs: 5000, maxBytes: 1000 }
  expect((await sendBuffered({ ...request, url }, options)).status).toBe(200)
  const [first] = received
  if (received.length !== 1 || first === undefined) throw new Error('not exactly one request')
  return first
}

function encode(
  type: string,
  config: DestinationConfig,
  events = [newGenerationEvent()],
): Promise<EgressRequest> {
  const kind = getDestination(type)
  return Promise.resolve(kind.exporter!.encode(config, kind.target(config) ?? '', events, 0))
}

function parseTexts(attributes: Record<string, unknown>): Record<string, unknown> {
  const parse = (value: unknown) =>
    typeof value === 'string' && /^[[{]/.test(value) ? (JSON.parse(value) as unknown) : value
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, parse(value)]))
}

for (const [type, vendor] of Object.entries(vendors)) {
  describe(type, () => {
    const { config, contentType } = vendor

    test('sends to the published address, authenticated', async () => {
      const request = await encode(type, {
        ...config,
        headers: { 'X-Team': 'blue', Authorization: 'custom' },
      })
      expect(request.url).toBe(vendor.url)
      const sent = await deliver(request)
      expect(sent).toMatchObject({ method: config.method ?? 'POST', path: new URL(vendor.url).pathname })
      const expected = { 'x-team': 'blue', 'content-type': contentType, ...vendor.headers }
      for (const [name, value] of Object.entries(expected)) {
        expect({ name, value: sent.headers.get(name) }).toEqual({ name, value })
      }
      expect(sent.headers.get('user-agent')).toStartWith('headgate/')
      expect(sent.headers.has('x-test-connection')).toBe(false)
    })

    test('tests the connection with an empty export in the same encoding', async () => {
      const kind = getDestination(type)
      const { request, accepted } = await kind.probe(config, kind.target(config) ?? '')
      expect(accepted).toEqual([400])
      const sent = await deliver(request)
      expect(sent.headers.get('x-test-connection')).toBe('true')
      expect(sent.headers.get('content-type')).toBe(contentType)
      const empty = contentType === 'application/json' ? '{"resourceSpans":[]}' : ''
      expect(Buffer.from(sent.bytes).toString()).toBe(empty)
    })

    test('a repeated request is the same', async () => {
      expect(await encode(type, config)).toEqual(await encode(type, config))
    })

    test.skipIf(!hasOtlpDecoder)('shows model, tokens, cost, input, output, session and user', async () => {
      const request = decoded.get(type)!
      const resource = readAttributes(request.resourceSpans?.[0]?.resource)
      expect(resource).toMatchObject({ 'service.name': 'headgate', ...vendor.resource })
      const [root, , child] = listSpans(request)
      expect(parseTexts(readAttributes(root))).toMatchObject(vendor.attributes)
      expect(parseTexts(readAttributes(child))).toMatchObject({
        status: 503,
        ...vendor.child,
      })
    })

    test.skipIf(!hasOtlpDecoder)('R40 its credentials are in no attribute', async () => {
      const { body } = await encode(type, config)
      expect(Buffer.from(body as Uint8Array).toString('latin1')).not.toMatch(/the-key|the-space|abc@o1/)
    })
  })
}

test('a collector may receive protobuf', async () => {
  const config = { endpoint: 'https://otel.example.com/v1/traces', protocol: 'protobuf' }
  const { headers } = await deliver(await encode('otel-collector', config))
  expect(headers.get('content-type')).toBe('application/x-protobuf')
  const { config: schema } = getDestination('otel-collector')
  expect(schema.safeParse({ ...config, protocol: 'grpc' }).success).toBe(false)
})
