import { expect, test } from 'bun:test'
import { buildCatalog } from './catalog.ts'
import type { DeclaredProvider } from './declared.ts'
import type { ModelLists } from './discovery/listed-model.ts'
import { findModel } from './lookup.ts'
import { providers } from './providers/all.ts'

function build(declared: DeclaredProvider[], lists: ModelLists = new Map()) {
  return buildCatalog({
    settings: { providers: declared, models: [] },
    providers,
    environment: { OPENAI_API_KEY: 'key' },
    lists,
  })
}

const local: DeclaredProvider = {
  slug: 'local',
  name: 'Local',
  base_url: 'http://127.0.0.1:9/v1',
  dialects: ['chat'],
  wildcards: ['local/*'],
}

test('an undeclared model of a pattern is served by its provider, under the rest of the name', () => {
  const catalog = build([local])
  const found = findModel(catalog, 'local/meta-llama/llama3.2:3b:nitro')
  expect(found).toMatchObject({
    variants: ['nitro'],
    model: { id: 'local/meta-llama/llama3.2:3b', author: 'local' },
  })
  expect(found?.model.endpoints).toMatchObject([
    { tag: 'local', upstream_model: 'meta-llama/llama3.2:3b', price_state: 'unknown' },
  ])
  for (const name of ['local/', 'other/model', 'local/ä', `local/${'x'.repeat(300)}`])
    expect(findModel(catalog, name)).toBeUndefined()
})

test('a declared model takes precedence, and `*` passes whole names', () => {
  const catalog = build([{ ...local, wildcards: ['*'] }])
  expect(findModel(catalog, 'openai/gpt-4o')?.model.endpoints[0]?.provider.slug).toBe('openai')
  expect(findModel(catalog, 'some/new-model')?.model.endpoints[0]?.upstream_model).toBe('some/new-model')
  expect(findModel(catalog, 'service/unknown')).toBeUndefined()
})

test('the price is that of the catalog for the same model of the provider, under any id', () => {
  const catalog = build([{ slug: 'openai', wildcards: ['mine/*'] }])
  const known = findModel(catalog, 'openai/gpt-4o')?.model
  const found = findModel(catalog, 'mine/gpt-4o')?.model
  expect(known?.top_endpoint.pricing?.prompt).toBeString()
  expect(found?.top_endpoint.pricing).toEqual(known?.top_endpoint.pricing ?? null)
  expect(found?.context_length).toBe(known?.context_length ?? null)
  const account = build([
    { slug: 'second', name: 'Second', like: 'openai', api_key: 'k', wildcards: ['two/*'] },
  ])
  expect(findModel(account, 'two/gpt-4o')?.model.top_endpoint.pricing).toEqual(
    known?.top_endpoint.pricing ?? null,
  )
})

test("otherwise the price is that of the provider's own list, and its models are listed", () => {
  const pricing = { prompt: '0.000001', completion: '0.000002' }
  const lists = new Map([['local', [{ id: 'big', name: 'Big', context_length: 4096, pricing }]]])
  const catalog = build([local], lists)
  const found = findModel(catalog, 'local/big')?.model
  expect(found).toMatchObject({ name: 'Big', context_length: 4096 })
  expect(found?.top_endpoint).toMatchObject({ pricing, price_state: 'priced' })
  const listed = catalog.wildcards.listAll()
  expect(listed).toBe(catalog.wildcards.listAll())
  expect(listed.filter(({ author }) => author === 'local').map(({ id }) => id)).toEqual(['local/big'])
  expect(catalog.models).toHaveLength(listed.length - 1)
})

test('names that requests choose do not add up', () => {
  const catalog = build([local])
  const first = findModel(catalog, 'local/0')?.model
  expect(findModel(catalog, 'local/0')?.model).toBe(first)
  for (let index = 1; index <= 3000; index++) findModel(catalog, `local/${index}`)
  expect(findModel(catalog, 'local/0')?.model).not.toBe(first)
})

test('several providers of one pattern are endpoints of one model, and formats follow the name', () => {
  const catalog = build([
    { ...local, wildcards: ['shared/*'] },
    { slug: 'amazon-bedrock', wildcards: ['shared/*'] },
  ])
  const endpoints = findModel(catalog, 'shared/anthropic.claude-new-v1:0')?.model.endpoints
  expect(endpoints?.map(({ tag, wireFormats }) => [tag, wireFormats])).toEqual([
    ['amazon-bedrock', ['messages']],
    ['local', ['chat']],
  ])
})
