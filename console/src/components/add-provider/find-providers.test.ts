import { expect, test } from 'bun:test'
import type { Schemas } from '../../api/client.ts'
import { findProviders } from './find-providers.ts'

function provider(slug: string, name: string, isKeyless = false): Schemas['ProviderHealth'] {
  return {
    provider: slug,
    provider_name: name,
    is_keyless: isKeyless,
    state: 'no_credential',
    used_endpoints: 0,
    problem_count: 0,
    problems: [],
    last_error: null,
    requests_last_30m: null,
    uptime_last_1d: null,
    hours: [],
  }
}

const all = [
  provider('sandbox', 'Sandbox', true),
  provider('x-ai', 'xAI'),
  provider('openai', 'OpenAI'),
  provider('azure', 'Azure OpenAI'),
  provider('anthropic', 'Anthropic'),
]

function find(text: string): string[] {
  return findProviders(all, text).map(({ provider_name }) => provider_name)
}

test('providers without keys are not offered', () => {
  expect(find('')).toEqual(['Anthropic', 'Azure OpenAI', 'OpenAI', 'xAI'])
  expect(find('sandbox')).toEqual([])
})

test('names that begin with the text come first', () => {
  expect(find(' OPEN')).toEqual(['OpenAI', 'Azure OpenAI'])
  expect(find('x-ai')).toEqual(['xAI'])
})
