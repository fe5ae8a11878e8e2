import { expect, test } from 'bun:test'
import { cutList, findPlace, parseList } from './request-list.ts'

const ids = Array.from({ length: 5000 }, (_, index) => `gen-${index}`)

test('a long list is cut around the request', () => {
  const part = cutList(ids, 'gen-2500')
  expect([part.length, part.indexOf('gen-2500')]).toEqual([1000, 500])
  expect(cutList(ids, 'gen-4999').at(-1)).toBe('gen-4999')
  expect(cutList(ids, 'gen-0')[0]).toBe('gen-0')
  expect(cutList(['gen-1'], 'gen-1')).toEqual(['gen-1'])
})

test('the neighbors are those of the list, and none is past its ends', () => {
  const list = { ids: ['a', 'b', 'c'], href: '/requests' }
  expect(findPlace(list, 'b')).toEqual({ position: 2, count: 3, previous: 'a', next: 'c' })
  expect(findPlace(list, 'a')).toMatchObject({ previous: null, next: 'b' })
  expect(findPlace(list, 'c')).toMatchObject({ previous: 'b', next: null })
  expect(findPlace(list, 'd')).toBeNull()
})

test('what is not a list is ignored', () => {
  for (const stored of [null, 'x', '[]', '{"ids":[1],"href":"/a"}', '{"ids":[],"href":"//example.com"}'])
    expect(parseList(stored)).toBeNull()
  expect(parseList('{"ids":["a"],"href":"/requests?status=error"}')?.ids).toEqual(['a'])
})
