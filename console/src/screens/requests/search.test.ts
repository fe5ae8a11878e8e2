import { expect, test } from 'bun:test'
import { queryOf, readSearch } from './search.ts'

test('filters of the address that the API would refuse are left out', () => {
  expect(
    readSearch({ period: 'toString', key: '', status: 'done', model: 'a/b', min_cost: '-1', other: 'x' }),
  ).toEqual({ model: 'a/b' })
})

test('numbers in the address stay what they were', () => {
  expect(readSearch({ min_cost: 0.0000001, min_latency: 1500, session_id: 42 })).toEqual({
    min_cost: '0.000000100',
    min_latency: '1500',
    session_id: '42',
  })
})

test('several workspaces, and those that are excluded, are kept', () => {
  const [one, two] = ['0b7c1f4e-5a7e-4b43-9d55-6f0f3a1c2d3e', '9d55c1f4-5a7e-4b43-9d55-6f0f3a1c2d3e']
  for (const workspace_id of [one, `!${one}`, `${one},!${two}`])
    expect(readSearch({ workspace_id })).toEqual({ workspace_id })
  for (const workspace_id of ['team', `${one},team`, `${one},`])
    expect(readSearch({ workspace_id })).toEqual({})
})

test('several statuses and a period are kept', () => {
  const search = readSearch({ period: '7d', status: 'failed,refused' })
  expect(search).toEqual({ period: '7d', status: 'failed,refused' })
  expect(queryOf(search, Date.parse('2026-11-16T12:00:00Z'))).toEqual({
    status: 'failed,refused',
    from: '2026-11-09T12:00:00.000Z',
  })
})

test('all time has no start', () => {
  expect(queryOf({ period: 'all' }, 0)).toEqual({})
})

test('a range of another screen takes the place of the period', () => {
  const range = { from: '2026-11-01T00:00:00Z', to: '2026-11-02T00:00:00Z' }
  expect(queryOf(readSearch({ ...range, model: 'a/b' }), 0)).toEqual({ ...range, model: 'a/b' })
  expect(readSearch({ from: 'someday' })).toEqual({})
  expect(queryOf({ from: '2h' }, Date.parse('2026-11-16T12:00:00Z'))).toEqual({
    from: '2026-11-16T10:00:00.000Z',
  })
})
