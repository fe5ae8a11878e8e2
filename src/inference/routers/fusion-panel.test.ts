import { expect, test } from 'bun:test'
import { selectPanel } from './fusion-panel.ts'

const candidates = [
  { id: 'a/best', author: 'a', price: 30, score: 0.9, standing: 0.5 },
  { id: 'a/second', author: 'a', price: 20, score: 0.85, standing: 0.5 },
  { id: 'b/good', author: 'b', price: 10, score: 0.8, standing: 0.5 },
  { id: 'c/cheap', author: 'c', price: 1, score: 0.4, standing: 0.5 },
  { id: 'd/cheaper', author: 'd', price: 0.5, score: null, standing: 0.5 },
  { id: 'e/unpriced', author: 'e', price: Number.POSITIVE_INFINITY, score: null, standing: 0.5 },
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
  expect(selectPanel(candidates, 'general-fast')?.analysis_models).toEqual(['b/good', 'c/cheap', 'd/cheaper'])
  expect(selectPanel([], 'general-high')).toBeNull()
})

test('a panel may have several models of one author if there are no others', () => {
  const few = candidates.slice(0, 2)
  expect(selectPanel(few, 'general-high')?.analysis_models).toEqual(['a/best', 'a/second'])
})

test('without benchmarks a panel has the models with the best standing, not the most expensive ones', () => {
  const unscored = [
    { id: 'a/dear', author: 'a', price: 750, score: null, standing: 0.4 },
    { id: 'b/strong', author: 'b', price: 12, score: null, standing: 0.9 },
    { id: 'c/solid', author: 'c', price: 4, score: null, standing: 0.8 },
    { id: 'd/known', author: 'd', price: 2, score: null, standing: 0.7 },
  ]
  expect(selectPanel(unscored, 'general-high')?.analysis_models).toEqual(['b/strong', 'c/solid', 'd/known'])
})
