import { describe, expect, test } from 'bun:test'
import { buildCatalog } from './catalog.ts'
import type { DeclaredProvider } from './declared.ts'
import { declaredModel, type ModelDeclaration } from './declared-model.ts'
import { findModel } from './lookup.ts'
import { providers } from './providers/all.ts'

interface Wishes {
  environment?: Record<string, string>
  declaredProviders?: DeclaredProvider[]
  models?: ModelDeclaration[]
}

function build({ environment = {}, declaredProviders = [], models = [] }: Wishes = {}) {
  const settings = { providers: declaredProviders, models: models.map((model) => declaredModel.parse(model)) }
  return buildCatalog({ settings, providers, environment })
}

const local: DeclaredProvider = {
  slug: 'local',
  name: 'Local',
  base_url: 'http://127.0.0.1:9001/v1',
  dialects: ['chat'],
}
const onLocal = (pricing?: ModelDeclaration['endpoints'][number]['pricing']): ModelDeclaration => ({
  id: 'acme/fast-1',
  name: 'Fast',
  endpoints: [{ provider: 'local', upstream_model: 'fast', ...(pricing && { pricing }) }],
})

describe('providers', () => {
  const enabled = (options: Wishes) =>
    build(options)
      .providers.filter((provider) => provider.enabled)
      .map((provider) => provider.slug)

  test('without any key only the sandbox is enabled', () => {
    expect(enabled({})).toEqual(['sandbox'])
  })

  test('the usual environment variable enables a provider; an empty one does not', () => {
    expect(enabled({ environment: { ANTHROPIC_API_KEY: 'k', OPENAI_API_KEY: '' } })).toEqual([
      'anthropic',
      'sandbox',
    ])
  })

  test('a provider whose address has placeholders needs the variables for them', () => {
    expect(enabled({ environment: { AZURE_API_KEY: 'k' } })).toEqual(['sandbox'])
    const catalog = build({ environment: { AZURE_API_KEY: 'k', AZURE_RESOURCE_NAME: 'ours' } })
    expect(catalog.providerByName.get('azure')).toMatchObject({
      enabled: true,
      installation: { settings: { resource: 'ours' }, credential: { kind: 'token', token: 'k' } },
    })
  })

  test('headgate.yaml overrides only the fields it sets of a built-in provider', () => {
    const catalog = build({
      declaredProviders: [{ slug: 'openai', base_url: 'https://proxy.example/v1', api_key: 'from-file' }],
      environment: { OPENAI_API_KEY: 'from-environment' },
    })
    expect(catalog.providerByName.get('openai')).toMatchObject({
      name: 'OpenAI',
      baseUrl: 'https://proxy.example/v1',
      installation: { credential: { kind: 'token', token: 'from-file' } },
      enabled: true,
    })
    expect(catalog.providers.filter((provider) => provider.slug === 'openai')).toHaveLength(1)
  })

  test('a declared provider without a key is enabled, with the most cautious data policy', () => {
    expect(build({ declaredProviders: [local] }).providerByName.get('local')).toMatchObject({
      enabled: true,
      installation: { credential: { kind: 'none' } },
      dataPolicy: { training: true, retains: true, publishes: false },
      regions: ['global'],
    })
  })

  test('a provider declared like another has its data, but not its keys, prices or models', () => {
    const second: DeclaredProvider = { slug: 'second', name: 'Second', like: 'anthropic' }
    const provider = (more: Partial<DeclaredProvider>) =>
      build({
        declaredProviders: [{ ...second, ...more }],
        environment: { ANTHROPIC_API_KEY: 'k' },
      }).providerByName.get('second')
    expect(provider({})).toMatchObject({ enabled: false, installation: { credential: { kind: 'none' } } })
    expect(provider({ api_key: 'own' })).toMatchObject({
      enabled: true,
      baseUrl: 'https://api.anthropic.com/v1',
      wireFormats: ['messages'],
      installation: { credential: { kind: 'token', token: 'own' } },
    })
    expect(provider({ base_url: 'http://127.0.0.1:9001' })).toMatchObject({
      enabled: true,
      installation: { credential: { kind: 'none' } },
    })
    const { providerByName } = build({ declaredProviders: [{ ...second, api_key: 'own' }] })
    expect(providerByName.get('vendor_a')?.slug).toBe('anthropic')
  })

  test('settings of headgate.yaml override those of the environment', () => {
    const region = (declared: Partial<DeclaredProvider>, environment: Record<string, string>) =>
      build({
        declaredProviders: [{ slug: 'amazon-bedrock', ...declared }],
        environment,
      }).providerByName.get('amazon-bedrock')?.installation.settings.region
    const credentials = { accessKeyId: 'a', secretAccessKey: 's', region: 'eu-west-1' }
    const machine = { AWS_REGION: 'us-east-1' }
    expect(region({ credentials }, machine)).toBe('eu-west-1')
    expect(region({ credentials, settings: { region: 'eu-north-1' } }, machine)).toBe('eu-north-1')
    const inVariable = { ...machine, AWS_BEARER_TOKEN_BEDROCK: JSON.stringify(credentials) }
    expect(region({}, inVariable)).toBe('us-east-1')
  })

  test('providers are found by slug, by display name and by neutral name', () => {
    const { providerByName } = build()
    for (const name of ['anthropic', 'vendor_a']) expect(providerByName.get(name)?.slug).toBe('anthropic')
    for (const name of ['amazon-bedrock', 'amazon bedrock']) {
      expect(providerByName.get(name)?.slug).toBe('amazon-bedrock')
    }
  })

  test('slugs are unique', () => {
    expect(new Set(providers.map((provider) => provider.slug)).size).toBe(providers.length)
  })

  test('a built-in provider without data retention has a privacy policy', () => {
    const unsupported = providers.filter(
      (provider) => !provider.dataPolicy.retains && !provider.inProcess && provider.privacyPolicyUrl === null,
    )
    expect(unsupported).toEqual([])
  })
})

describe('models', () => {
  test('a declared model replaces the built-in one with the same id', () => {
    const id = 'openai/gpt-4o'
    const catalog = build({ declaredProviders: [local], models: [{ ...onLocal(), id, name: 'Ours' }] })
    expect(catalog.models.filter((model) => model.id === id)).toHaveLength(1)
    expect(findModel(catalog, id)?.model).toMatchObject({ name: 'Ours', top_endpoint: { tag: 'local' } })
    expect(catalog.models.length).toBe(build().models.length)
  })

  test('a model of one of the four vendors has its neutral name, whichever provider serves it', () => {
    const catalog = build({
      declaredProviders: [local],
      models: [{ ...onLocal(), id: 'anthropic/claude-own-1' }],
    })
    expect(findModel(catalog, 'anthropic/claude-own-1')?.model.vendor).toBe('vendor_a')
    expect(findModel(catalog, 'openai/gpt-4o')?.model.vendor).toBe('vendor_b')
    expect(findModel(catalog, 'google/gemini-2.5-pro')?.model.vendor).toBe('vendor_c')
    expect(findModel(catalog, 'x-ai/grok-4')?.model.vendor).toBe('vendor_d')
    expect(findModel(catalog, 'sandbox/echo')?.model.vendor).toBeNull()
  })

  test('R8 an endpoint is priced, free, or of unknown price', () => {
    const state = (pricing?: Parameters<typeof onLocal>[0]) =>
      findModel(build({ declaredProviders: [local], models: [onLocal(pricing)] }), 'acme/fast-1')?.model
        .top_endpoint.price_state
    expect(state({ prompt: '0.000001', completion: '0' })).toBe('priced')
    expect(state({ prompt: '0', completion: '0.0' })).toBe('free')
    expect(state()).toBe('unknown')
  })

  test('R8 prices of images and videos count', () => {
    const catalog = build()
    expect(findModel(catalog, 'sandbox/painter')?.model.top_endpoint.price_state).toBe('priced')
    expect(findModel(catalog, 'sandbox/filmmaker')?.model.top_endpoint.price_state).toBe('priced')
  })

  test('the top endpoint of a model is the first that can be called and has a price', () => {
    const two: ModelDeclaration = {
      id: 'acme/fast-1',
      name: 'Fast',
      endpoints: [
        { provider: 'openai', upstream_model: 'a', pricing: { prompt: '1', completion: '1' } },
        { provider: 'local', upstream_model: 'b' },
        {
          provider: 'local',
          variant: 'turbo',
          upstream_model: 'c',
          pricing: { prompt: '2', completion: '2' },
        },
      ],
    }
    const top = (environment: Record<string, string>) =>
      findModel(build({ declaredProviders: [local], models: [two], environment }), 'acme/fast-1')?.model
        .top_endpoint.tag
    expect(top({})).toBe('local/turbo')
    expect(top({ OPENAI_API_KEY: 'k' })).toBe('openai')
  })

  test('an endpoint overrides its model and provider', () => {
    const catalog = build({
      declaredProviders: [local],
      models: [
        {
          id: 'acme/fast-1',
          name: 'Fast',
          context_length: 1000,
          supported_parameters: ['temperature'],
          endpoints: [
            { provider: 'local', upstream_model: 'a' },
            {
              provider: 'local',
              variant: 'eu',
              upstream_model: 'a',
              context_length: 500,
              supported_parameters: ['tools'],
              regions: ['europe'],
              data_policy: { training: false, retains: false },
            },
          ],
        },
      ],
    })
    const [first, second] = findModel(catalog, 'acme/fast-1')?.model.endpoints ?? []
    expect(first).toMatchObject({
      context_length: 1000,
      supported_parameters: ['temperature'],
      regions: ['global'],
    })
    expect(second).toMatchObject({
      tag: 'local/eu',
      context_length: 500,
      supported_parameters: ['tools'],
      regions: ['europe'],
      data_policy: { training: false, retains: false, publishes: false },
    })
  })
})

test('R8 an endpoint whose tokens have no price generates no text', () => {
  const both: DeclaredProvider = { ...local, dialects: ['chat', 'images'] }
  const wireFormatsOf = (endpoint: Partial<ModelDeclaration['endpoints'][number]>) => {
    const [model] = build({
      declaredProviders: [both],
      models: [
        {
          id: 'acme/fast-1',
          name: 'Fast',
          output_modalities: ['text', 'image'],
          endpoints: [{ provider: 'local', upstream_model: 'fast', ...endpoint }],
        },
      ],
    }).models.filter(({ id }) => id === 'acme/fast-1')
    return model?.endpoints[0]?.wireFormats
  }
  const perImage = { billable: 'output_image', unit: 'image', cost_usd: '0.02' } as const
  const perToken = { billable: 'output_image', unit: 'token', cost_usd: '0.00001' } as const
  const tokens = { prompt: '0.000001', completion: '0.000002' }
  expect(wireFormatsOf({ image: { pricing: [perImage] } })).toEqual(['images'])
  expect(wireFormatsOf({ image: { pricing: [perImage, perToken] } })).toEqual(['chat', 'images'])
  expect(wireFormatsOf({ image: { pricing: [perImage] }, pricing: tokens })).toEqual(['chat', 'images'])
  expect(wireFormatsOf({ pricing: tokens, prompt_unit: 'character' })).toEqual(['images'])
  expect(wireFormatsOf({})).toEqual(['chat', 'images'])
})

test('the sandbox has a labeled model for every output modality, paid ones with a price', () => {
  const models = build().models.filter((model) => model.author === 'sandbox')
  const outputs = new Set(models.flatMap((model) => model.output_modalities))
  expect([...outputs].sort()).toEqual([
    'embeddings',
    'image',
    'rerank',
    'speech',
    'text',
    'transcription',
    'video',
  ])
  for (const model of models) {
    expect(model.name).toContain('simulated')
    expect(model.description).toStartWith('Simulated')
    expect(model.top_endpoint.price_state).toBe(model.id.endsWith(':free') ? 'free' : 'priced')
  }
})

describe('a new catalog', () => {
  const modelsBy = (options: Wishes, provider: string) =>
    build(options).models.filter(({ endpoints }) => endpoints.some((one) => one.provider.slug === provider))

  test('has the models whose declaration and providers are the same, not compiled again', () => {
    const before = build().models
    const after = build({ models: [onLocal()], declaredProviders: [local] }).models
    expect(before.length).toBeGreaterThan(100)
    expect(after.filter((model) => !before.includes(model)).map(({ id }) => id)).toEqual(['acme/fast-1'])
  })

  test('compiles the models of a provider with another credential, and leaves earlier ones unchanged', () => {
    const keyOf = (models: typeof before) =>
      models[0]?.endpoints.find(({ provider }) => provider.slug === 'groq')?.provider.installation.credential
    const before = modelsBy({ environment: { GROQ_API_KEY: 'one' } }, 'groq')
    const after = modelsBy({ environment: { GROQ_API_KEY: 'two' } }, 'groq')
    expect(keyOf(before)).toEqual({ kind: 'token', token: 'one' })
    expect(keyOf(after)).toEqual({ kind: 'token', token: 'two' })
    expect(after.some((model) => before.includes(model))).toBe(false)
  })
})
