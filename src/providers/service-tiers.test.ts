import { expect, test } from 'bun:test'
import { buildCatalogue } from '../catalogue/catalogue.ts'
import { declaredModel } from '../catalogue/declared-model.ts'
import type { WireAdapter } from '../catalogue/provider.ts'
import type { JsonObject } from '../lib/json-values.ts'
import { bedrock } from './bedrock.ts'
import { vertex } from './vertex.ts'

const shaped = (wire: WireAdapter | undefined, body: JsonObject) =>
  wire?.adaptRequest({ model: 'm', stream: false, path: '/p', headers: {}, body })
const laneHeader = 'x-vertex-ai-llm-shared-request-type'

test('Vertex is asked for a lane in a header, and never in the body', () => {
  const gemini = shaped(vertex.wire?.gemini, { contents: [], serviceTier: 'priority' })
  expect(gemini).toMatchObject({ headers: { [laneHeader]: 'priority' }, body: { contents: [] } })
  expect(gemini?.body).not.toHaveProperty('serviceTier')
  const chat = shaped(vertex.wire?.chat, { messages: [], service_tier: 'flex' })
  expect(chat).toMatchObject({ headers: { [laneHeader]: 'flex' }, body: { messages: [] } })
  expect(chat?.body).not.toHaveProperty('service_tier')
  expect(shaped(vertex.wire?.gemini, { contents: [] })?.headers).toEqual({})
})

test('the clouds know no tiers in the Messages format; Bedrock does in the Chat format', () => {
  for (const wire of [vertex.wire?.messages, bedrock.wire?.messages]) {
    expect(shaped(wire, { messages: [], service_tier: 'auto' })?.body).not.toHaveProperty('service_tier')
  }
  expect(shaped(bedrock.wire?.chat, { messages: [], service_tier: 'flex' })?.body.service_tier).toBe('flex')
})

test('what a provider refuses elsewhere is the word that its lanes are asked with', () => {
  const endpoint = { provider: vertex.slug, upstream_model: 'm' }
  const model = { id: 'acme/m', name: 'M', endpoints: [endpoint, { ...endpoint, service_tier: 'flex' }] }
  const { models } = buildCatalogue({
    settings: { providers: [], models: [declaredModel.parse(model)] },
    providers: [vertex],
    environment: {},
  })
  const refused = models
    .find(({ id }) => id === 'acme/m')
    ?.endpoints.map(({ unsupported_parameters }) => unsupported_parameters.has('service_tier'))
  expect(refused).toEqual([true, false])
})
