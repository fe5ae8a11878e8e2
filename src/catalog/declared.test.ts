import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError, readConfig } from '../config.ts'
import { readSettings } from '../gateway/settings.ts'

const directory = mkdtempSync(join(tmpdir(), 'headgate-declared-'))
afterAll(() => rmSync(directory, { recursive: true }))

function read(text: string) {
  const path = join(directory, 'headgate.yaml')
  writeFileSync(path, text)
  return readSettings(readConfig({ HEADGATE_CONFIG: path, LOCAL_KEY: 'sk-local' }))
}

function complaint(text: string): string {
  try {
    read(text)
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  throw new Error('no complaint')
}

const example = `providers:
  - slug: local
    name: Local vLLM
    base_url: http://127.0.0.1:9001/v1
    api_key: \${LOCAL_KEY}
    dialects: [chat]
    regions: [global, us]
    data_policy: { training: false, retains: false, publishes: false }
models:
  - id: acme/fast-1
    name: Acme Fast 1
    context_length: 128000
    endpoints:
      - { provider: local, upstream_model: fast-1, max_completion_tokens: 8192, quantization: fp8,
          pricing: { prompt: "0.000001", completion: "0.000002" } }
`

test('the example of the documentation is valid', () => {
  const { providers, models } = read(example)
  expect(providers[0]).toMatchObject({ slug: 'local', api_key: 'sk-local', regions: ['global', 'us'] })
  expect(models[0]).toMatchObject({
    id: 'acme/fast-1',
    created: 0,
    output_modalities: ['text'],
    endpoints: [{ pricing: { prompt: '0.000001', completion: '0.000002' }, prompt_unit: 'token' }],
  })
})

test('missing fields of a data policy default to the most cautious values', () => {
  const { providers } = read(
    example.replace('training: false, retains: false, publishes: false', 'training: false'),
  )
  expect(providers[0]?.data_policy).toEqual({ training: false, retains: true, publishes: false })
})

test('a release date may be a date string', () => {
  const { models } = read(example.replace('context_length: 128000', 'created: 2026-01-31'))
  expect(models[0]?.created).toBe(Date.parse('2026-01-31T00:00:00Z') / 1000)
})

describe('errors name their line', () => {
  test.each([
    [
      'an endpoint on an unknown provider',
      example.replace('provider: local,', 'provider: locl,'),
      'line 14: models.0.endpoints.0.provider: there is no provider "locl"',
    ],
    [
      'a price that is a number',
      example.replace('"0.000001"', '0.000001'),
      'line 15: models.0.endpoints.0.pricing.prompt: put the price in quotes',
    ],
    [
      'a price that is no decimal',
      example.replace('"0.000002"', '"two"'),
      'line 15: models.0.endpoints.0.pricing.completion: must be a decimal string',
    ],
    [
      'an unknown field of a provider',
      example.replace('name: Local', 'nmae: Local'),
      'line 3: providers.0.nmae: is not a known field',
    ],
    [
      'an unknown field of a model',
      `${example}    contxt: 1\n`,
      'line 16: models.0.contxt: is not a known field',
    ],
    ['an unknown wire format', example.replace('[chat]', '[chta]'), 'line 6: providers.0.dialects.0'],
    ['an unknown quantization', example.replace('fp8', 'fp9'), 'line 14: models.0.endpoints.0.quantization'],
    [
      'an id without an author',
      example.replace('acme/fast-1', 'fast-1'),
      'line 10: models.0.id: must be author/name',
    ],
    [
      'an id with a routing suffix',
      example.replace('acme/fast-1', 'acme/fast-1:nitro'),
      'line 10: models.0.id: ends in a suffix',
    ],
    [
      'a new provider without a base_url',
      example.replace('    base_url: http://127.0.0.1:9001/v1\n', ''),
      'line 2: providers.0.base_url: is required',
    ],
    [
      'a provider declared twice',
      example.replace('models:', '  - slug: local\nmodels:'),
      'line 9: providers.1.slug: "local" is declared twice',
    ],
    [
      'a name used for two models',
      `${example}  - id: acme/fast-2\n    name: Two\n    aliases: [acme/fast-1]\n    endpoints: [{ provider: local, upstream_model: x }]\n`,
      'line 18: models.1.aliases.0: "acme/fast-1" is declared twice',
    ],
    [
      'an id of the gateway itself',
      example.replace('acme/fast-1', 'service/fast-1'),
      'line 10: models.0.id: must not begin with "service/", which is reserved for router models',
    ],
    [
      'an alias of the gateway itself',
      `${example}    aliases: [service/auto]\n`,
      'line 16: models.0.aliases.0: must not begin with "service/"',
    ],
    [
      'two endpoints with the same tag',
      `${example}      - { provider: local, upstream_model: fast-1b }\n`,
      'line 16: models.0.endpoints.1: a second endpoint on "local" needs its own variant',
    ],
    [
      'a variable that is not set',
      example.replace('LOCAL_KEY', 'OTHER_KEY'),
      'line 5: the environment variable OTHER_KEY',
    ],
  ])('%s', (_, text, expected) => {
    expect(complaint(text)).toStartWith(`headgate.yaml, ${expected}`)
  })
})

describe('credentials and settings of providers', () => {
  const bedrock = (more: string) => `providers:\n  - slug: amazon-bedrock\n    ${more}\n`
  const key = '{ accessKeyId: a, secretAccessKey: 5ecret, region: eu-west-1 }'

  test('are validated in the format of the provider', () => {
    expect(read(bedrock(`credentials: ${key}`)).providers).toHaveLength(1)
    expect(read(bedrock('settings: { region: eu-west-1 }')).providers).toHaveLength(1)
    const like =
      '{ slug: second, name: Second, like: amazon-bedrock, api_key: k, settings: { region: us-west-2 } }'
    expect(read(`providers:\n  - ${like}\n`).providers).toHaveLength(1)
  })

  test.each([
    [
      bedrock('credentials: { accessKeyId: a, secretAccessKey: 5ecret }'),
      'line 3: providers.0.credentials.region',
    ],
    [bedrock(`credentials: ${key}\n    api_key: k`), 'cannot be combined with api_key'],
    [bedrock('settings: { project: p }'), 'is not a setting of this provider'],
    [bedrock('settings: { region: evil.example/5ecret }'), 'is not a valid value for this setting'],
    [bedrock('like: openai'), 'is built in; remove like or choose another slug'],
    ['providers:\n  - { slug: groq, credentials: { a: 5ecret } }\n', 'is not for this provider; use api_key'],
    ['providers:\n  - { slug: mine, name: M, like: unknown }\n', 'there is no built-in provider "unknown"'],
    ['providers:\n  - { slug: mine, like: openai }\n', 'providers.0.name: is required'],
  ])('S12 an error contains no secret: %#', (text, problem) => {
    const message = complaint(text)
    expect(message).toContain(problem)
    expect(message).not.toContain('5ecret')
  })
})
