import { expect, test } from 'bun:test'
import type { Catalog } from '../../catalog/catalog.ts'
import type { ProviderPreferences } from '../../formats/schema/preferences.ts'
import { combinePreferences } from './rule-preferences.ts'

const providers = new Map(
  ['alpha', 'beta'].flatMap((slug) => {
    const provider = { slug } as ReturnType<Catalog['providerByName']['get']> & object
    return [
      [slug, provider],
      [slug.toUpperCase(), provider],
    ] as const
  }),
)
const combine = (sent: ProviderPreferences, rule: ProviderPreferences) =>
  combinePreferences(sent, rule, providers)

test.each<[string, ProviderPreferences, ProviderPreferences, ProviderPreferences]>([
  [
    'what only one of them has stays',
    { sort: 'price' },
    { order: ['beta'] },
    { sort: 'price', order: ['beta'] },
  ],
  [
    'the rule takes precedence',
    { sort: 'price', order: ['alpha'] },
    { sort: 'latency', order: ['beta'] },
    { sort: 'latency', order: ['beta'] },
  ],
  ['only: both lists', { only: ['alpha', 'beta'] }, { only: ['beta'] }, { only: ['beta'] }],
  ['only: nothing in common', { only: ['alpha'] }, { only: ['beta'] }, { only: [] }],
  [
    'only: an endpoint of a provider of the rule',
    { only: ['alpha/eu'] },
    { only: ['alpha'] },
    { only: ['alpha/eu'] },
  ],
  [
    'only: an endpoint of a provider of the request',
    { only: ['ALPHA'] },
    { only: ['alpha/eu', 'beta'] },
    { only: ['alpha/eu'] },
  ],
  [
    'only: another provider whose name begins the same',
    { only: ['alphabet'] },
    { only: ['alpha'] },
    { only: [] },
  ],
  ['only: null is none', { only: null }, { only: ['beta'] }, { only: ['beta'] }],
  ['ignore: added up', { ignore: ['alpha'] }, { ignore: ['beta', 'alpha'] }, { ignore: ['alpha', 'beta'] }],
  [
    'zdr stays',
    { zdr: true, data_collection: 'deny' },
    { zdr: false, data_collection: 'allow' },
    { zdr: true, data_collection: 'deny' },
  ],
  [
    'zdr is added',
    { zdr: false },
    { zdr: true, data_collection: 'deny' },
    { zdr: true, data_collection: 'deny' },
  ],
  ['no fallbacks stays', { allow_fallbacks: false }, { allow_fallbacks: true }, { allow_fallbacks: false }],
  [
    'prompts that must not be cached at the provider stay so',
    { prompt_caching: false },
    { prompt_caching: true },
    { prompt_caching: false },
  ],
  [
    'prompts are not cached where the rule says so',
    { prompt_caching: true },
    { prompt_caching: false },
    { prompt_caching: false },
  ],
  [
    'null in the rule says nothing',
    { only: ['alpha'], ignore: ['beta'], quantizations: ['fp8'], zdr: true },
    { only: null, ignore: null, quantizations: null, zdr: null },
    { only: ['alpha'], ignore: ['beta'], quantizations: ['fp8'], zdr: true },
  ],
  [
    'parameters stay required',
    { require_parameters: true },
    { require_parameters: false },
    { require_parameters: true },
  ],
  [
    'the lower price',
    { max_price: { prompt: 1, image: 5 } },
    { max_price: { prompt: '2.5', completion: 3 } },
    { max_price: { prompt: 1, image: 5, completion: 3 } },
  ],
  [
    'the lower price of the rule',
    { max_price: { prompt: '10' } },
    { max_price: { prompt: 9 } },
    { max_price: { prompt: 9 } },
  ],
  [
    'quantizations in both',
    { quantizations: ['fp8', 'int4'] },
    { quantizations: ['fp8', 'bf16'] },
    { quantizations: ['fp8'] },
  ],
])('%s', (_, sent, rule, expected) => expect(combine(sent, rule)).toEqual(expected))
