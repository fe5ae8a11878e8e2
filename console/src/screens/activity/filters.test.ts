import { expect, test } from 'bun:test'
import { dimensionOf } from './dimensions.ts'
import { conditionsOf, narrow } from './filters.ts'

test('filters are conditions of the query', () => {
  expect(conditionsOf({ model: 'a/b,c/d,!e/f', external_user: 'x\\,y' })).toEqual([
    { field: 'model', operator: 'in', value: ['a/b', 'c/d'] },
    { field: 'model', operator: 'not_in', value: ['e/f'], include_unset: true },
    { field: 'external_user', operator: 'in', value: ['x,y'] },
  ])
})

test('requests have all of several tags, and no excluded one', () => {
  expect(conditionsOf({ tag: 'project=apollo,!env=a=b' })).toEqual([
    { field: 'tag:project', operator: 'in', value: ['apollo'] },
    { field: 'tag:env', operator: 'not_in', value: ['a=b'], include_unset: true },
  ])
})

test('a query has as many conditions as the API accepts', () => {
  const tag = Array.from({ length: 30 }, (_, index) => `a${index}=b`).join()
  expect(conditionsOf({ tag })).toHaveLength(20)
})

test('a group replaces the filter of its dimension, and a tag adds to those that are there', () => {
  const group = { id: 'a,b', label: 'A' }
  expect(narrow({ model: 'a/b', key: 'k' }, dimensionOf('model'), group)).toEqual({
    model: 'a\\,b',
    key: 'k',
  })
  expect(narrow({ tag: 'env=x' }, dimensionOf('tag:project'), group)).toEqual({ tag: 'env=x,project=a\\,b' })
  expect(narrow({}, dimensionOf('finish_reason'), group)).toBeUndefined()
  expect(narrow({}, dimensionOf('model'), { id: null, label: 'None' })).toBeUndefined()
})
