import { expect, test } from 'bun:test'
import { describeAccuracy } from './accuracy-text.ts'

const set = { language: 'en', precision: 1, others: 0, flagged: null }
const filter = { slug: 'person-name', label: '[PERSON_NAME]', default_threshold: null } as const

test('sets that the filter was not developed with come first', () => {
  const accuracy = [
    { ...set, set: 'one', marks: 500, recall: 0.85, developed_with: true },
    { ...set, set: 'two', marks: 40, recall: 0.35, developed_with: false },
  ]
  expect(describeAccuracy({ ...filter, accuracy })).toBe('Finds 35% of 40 in two.')
  expect(describeAccuracy({ ...filter, accuracy: accuracy.slice(0, 1) })).toBe(
    'Finds 85% of 500 in one; less in other texts.',
  )
})

test('a filter without figures says so', () => {
  expect(describeAccuracy({ ...filter, accuracy: [] })).toBe('Not measured on public texts.')
  expect(describeAccuracy(undefined)).toBe('')
})
