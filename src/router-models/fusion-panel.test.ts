import { expect, test } from 'bun:test'
import { selectPanel } from './fusion-panel.ts'

const candidates = [
  { id: 'a/best', author: 'a', price: 30, score: 0.9 },
  { id: 'a/second', author: 'a', price: 20, score: 0.85 },
  { id: 'b/good', author: 'b', price: 10, score: 0.8 },
  { id: 'c/cheap', author: 'c', price: 1, score: 0.4 },
  { id: 'd/cheaper', author: 'd', price: 0.5, score: null },
  { id: 'e/unpriced', author: 'e', price: Number.POSITIVE_INFINITY, score: null },
]

test('a panel has models of different authors, by the rule of its preset', () => {
  expect(selectPanel(candidates, 'general-high')).toEqual({
    model: 'a/best',
    analysis_models: ['a/best', 'b/good', 'c/cheap'],
  })
  expect(selectPanel(candidates, 'general-budget')).toEqual({
    model: 'b/good',
    analysis_models: ['b/good', 'c/cheap', 'd/cheaper'],
  })
  expect(selectPanel(candidates, 'general-fast')?.model).toBe('d/cheaper')
  expect(selectPanel([], 'general-high')).toBeNull()
})

test('a panel may have several models of one author if there are no others', () => {
  const few = candidates.slice(0, 2)
  expect(selectPanel(few, 'general-high')?.analysis_models).toEqual(['a/best', 'a/second'])
})
