import { expect, test } from 'bun:test'
import type { ProviderHealth } from './queries.ts'
import { selectProviders } from './select-providers.ts'

const make = (provider: string, state: ProviderHealth['state']): ProviderHealth => ({
  provider,
  provider_name: provider.toUpperCase(),
  is_keyless: false,
  state,
  used_endpoints: 0,
  problem_count: 0,
  problems: [],
  last_error: null,
  requests_last_30m: 0,
  uptime_last_1d: null,
  hours: [],
})
const all = [make('b', 'unused'), make('a', 'unused'), make('c', 'degraded'), make('d', 'no_credential')]
const slugs = (list: ProviderHealth[]) => list.map(({ provider }) => provider)

test('those in trouble come first, and those without a credential only on request', () => {
  expect(slugs(selectProviders(all, new Map(), {}))).toEqual(['c', 'a', 'b'])
  expect(slugs(selectProviders(all, new Map(), { all: true }))).toEqual(['c', 'a', 'b', 'd'])
})

test('a key of the workspace is a credential', () => {
  expect(slugs(selectProviders(all, new Map([['d', 1]]), {}))).toEqual(['c', 'a', 'b', 'd'])
})

test('the search ignores case', () => {
  expect(slugs(selectProviders(all, new Map(), { q: ' C' }))).toEqual(['c'])
})
