import { expect, test } from 'bun:test'
import { listSnippets } from './snippets.ts'

const target = {
  server: 'https://gateway.example.com/ai',
  key: 'sk-hg-v1-0123456789abcdef',
  model: 'acme/large',
}
const snippets = new Map(listSnippets(target).map((snippet) => [snippet.id, snippet]))
const codeOf = (id: string, index = 0) => snippets.get(id)?.samples[index]?.code ?? ''

test('every client has the address of this server and the key', () => {
  expect([...snippets.keys()]).toEqual([
    'curl',
    'openai-python',
    'openai-node',
    'anthropic',
    'ai-sdk',
    'claude-code',
    'codex',
    'opencode',
    'gemini-cli',
    'cursor',
    'zed',
    'open-webui',
    'librechat',
  ])
  for (const { samples } of snippets.values()) {
    const text = samples.map(({ code }) => code).join('\n')
    expect(text).toContain(target.server)
    expect(text).toContain(target.key)
  }
})

test.each([
  ['openai-python', 'base_url="https://gateway.example.com/ai/v1"'],
  ['anthropic', "baseURL: 'https://gateway.example.com/ai',"],
  ['claude-code', 'ANTHROPIC_BASE_URL=https://gateway.example.com/ai\n'],
  ['gemini-cli', 'GOOGLE_GEMINI_BASE_URL=https://gateway.example.com/ai\n'],
  ['codex', 'base_url = "https://gateway.example.com/ai/v1"'],
])('%s gets the base URL with or without /v1, as it expects it', (id, text) => {
  expect(codeOf(id)).toContain(text)
})

test('Codex and LibreChat get settings that can be parsed', () => {
  expect(Bun.TOML.parse(codeOf('codex'))).toMatchObject({
    model: 'acme/large',
    model_providers: { headgate: { env_key: 'HEADGATE_KEY', wire_api: 'responses' } },
  })
  expect(Bun.YAML.parse(codeOf('librechat'))).toMatchObject({
    endpoints: { custom: [{ baseURL: `${target.server}/v1`, models: { default: ['acme/large'] } }] },
  })
})

test('opencode and Zed get settings that can be parsed', () => {
  expect(JSON.parse(codeOf('opencode'))).toMatchObject({
    model: 'headgate/acme/large',
    provider: { headgate: { options: { baseURL: `${target.server}/v1`, apiKey: '{env:HEADGATE_KEY}' } } },
  })
  expect(JSON.parse(codeOf('zed')).language_models.openai_compatible.Headgate).toEqual({
    api_url: `${target.server}/v1`,
    available_models: [{ name: 'acme/large', display_name: 'acme/large', max_tokens: 128000 }],
  })
})

test('a container reaches a server on loopback by the name of its host', () => {
  const local = listSnippets({ ...target, server: 'http://127.0.0.1:8080' })
  const code = local.find(({ id }) => id === 'open-webui')?.samples[0]?.code
  expect(code).toContain('OPENAI_API_BASE_URL=http://host.docker.internal:8080/v1')
})
