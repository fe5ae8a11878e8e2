import { expect, test } from 'bun:test'
import { queryOf, readFilters } from './filters.ts'

test('the address of the list is the query of the API', () => {
  const filters = readFilters({ q: 'echo', sort: 'newest', output: 'all', provider: 'a', all: true, page: 3 })
  expect(queryOf(filters)).toEqual({
    q: 'echo',
    sort: 'newest',
    providers: 'a',
    include_unavailable: true,
    output_modalities: 'all',
    include_providers: true,
    limit: 50,
    offset: 100,
  })
})

test('what an address must not say is ignored', () => {
  expect(readFilters({ q: {}, sort: 'toString', output: 'x', provider: {}, all: 'no', page: -1 })).toEqual({})
  expect(queryOf({})).toEqual({
    output_modalities: 'text',
    include_providers: true,
    limit: 50,
    offset: 0,
  })
})
