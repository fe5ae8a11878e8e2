import { expect, test } from 'bun:test'
import { QueryClient } from '@tanstack/react-query'
import { allPages } from './all-pages.ts'

interface Context {
  queryKey: readonly unknown[]
}

function listOf(count: number, pageSize = 100) {
  const asked: unknown[] = []
  const queryFn = async ({ queryKey }: Context) => {
    asked.push(queryKey)
    const { offset, limit } = (queryKey[2] as { params: { query: { offset: number; limit: number } } }).params
      .query
    const size = Math.max(0, Math.min(limit, pageSize, count - offset))
    return { data: Array.from({ length: size }, (_, index) => offset + index), total_count: count }
  }
  const queryKey = ['get', '/roles', { params: { query: { q: 'a' } } }] as const
  return { asked, options: { queryKey, queryFn } }
}

const read = ({ options }: ReturnType<typeof listOf>) => new QueryClient().fetchQuery(allPages(options))

test.each([0, 1, 100, 101, 250])('%i records', async (count) => {
  const list = listOf(count)
  expect(await read(list)).toEqual({
    data: Array.from({ length: count }, (_, index) => index),
    total_count: count,
  })
  expect(list.asked).toHaveLength(Math.max(1, Math.ceil(count / 100)))
  expect(list.asked[0]).toEqual(['get', '/roles', { params: { query: { q: 'a', offset: 0, limit: 100 } } }])
})

test('ends when a page is empty, although there should be more', async () => {
  const list = listOf(10, 0)
  expect((await read(list)).data).toEqual([])
  expect(list.asked).toHaveLength(2)
})

test('is not the same query as the first page', () => {
  const { options } = listOf(1)
  expect(allPages(options).queryKey).toEqual([...options.queryKey, 'all'])
})
