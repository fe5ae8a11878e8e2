import { expect, test } from 'bun:test'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { buildCatalog } from '../catalog.ts'
import { declaredModel } from '../declared-model.ts'
import type { WireAdapter } from '../provider.ts'
import { bedrock } from './bedrock.ts'
import { vertex } from './vertex.ts'

const adapt = (wire: WireAdapter | undefined, body: JsonObject) =>
  wire?.adaptRequest({ model: 'm', stream: false, path: '/p', headers: {}, body })
const tierHeader = 'x-vertex-ai-llm-shared-request-type'

test('Vertex selects a service tier in a header, never in the body', () => {
  const gemini = adapt(vertex.wire?.gemini, { contents: [], serviceTier: 'priority' })
  expect(gemini).toMatchObject({ headers: { [tierHeader]: 'priority' }, body: { contents: [] } })
  expect(gemini?.body).not.toHaveProperty('serviceTier')
  const chat = adapt(vertex.wire?.chat, { messages: [], service_tier: 'flex' })
  expect(chat).toMatchObject({ headers: { [tierHeader]: 'flex' }, body: { messages: [] } })
  expect(chat?.body).not.toHaveProperty('service_tier')
  expect(adapt(vertex.wire?.gemini, { contents: [] })?.headers).toEqual({})
})

test('cloud providers have no service tiers in the Messages format; Bedrock has them in the Chat format', () => {
  for (const wire of [vertex.wire?.messages, bedrock.wire?.messages]) {
    expect(adapt(wire, { messages: [], service_tier: 'auto' })?.body).not.toHaveProperty('service_tier')
  }
  expect(adapt(bedrock.wire?.chat, { messages: [], service_tier: 'flex' })?.body.service_tier).toBe('flex')
})

test('endpoints of a service tier send a field that the provider rejects elsewhere', () => {
  const endpoint = { provider: vertex.slug, upstream_model: 'm' }
  const model = { id: 'acme/m', name: 'M', endpoints: [endpoint, { ...endpoint, service_tier: 'flex' }] }
  const { models } = buildCatalog({
    settings: { providers: [], models: [declaredModel.parse(model)] },
    providers: [vertex],
    environment: {},
  })
  const unsupported = models
    .find(({ id }) => id === 'acme/m')
    ?.endpoints.map(({ unsupported_parameters }) => unsupported_parameters.has('service_tier'))
  expect(unsupported).toEqual([true, false])
})
