import { expect, test } from 'bun:test'
import { listWellKnown } from '../../../test/support/conventions.ts'
import { telemetryNameOf } from '../provider.ts'
import { providers } from './all.ts'

const names = Object.fromEntries(providers.map((provider) => [provider.slug, telemetryNameOf(provider)]))

test('providers that the GenAI conventions name have that name in traces', () => {
  expect(names).toMatchObject({
    openai: 'openai',
    anthropic: 'anthropic',
    'google-ai-studio': 'gcp.gemini',
    'google-vertex': 'gcp.vertex_ai',
    'amazon-bedrock': 'aws.bedrock',
    azure: 'azure.ai.openai',
    cohere: 'cohere',
    mistral: 'mistral_ai',
    groq: 'groq',
    deepseek: 'deepseek',
    perplexity: 'perplexity',
    xai: 'x_ai',
  })
})

test('a name other than the slug is one of the conventions', () => {
  const wellKnown = listWellKnown('GEN_AI_PROVIDER_NAME')
  const changed = Object.entries(names).flatMap(([slug, name]) => (name === slug ? [] : [name]))
  expect(wellKnown).toEqual(expect.arrayContaining(changed))
  expect(changed.length).toBeGreaterThan(0)
})
