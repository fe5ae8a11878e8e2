import { expect, test } from 'bun:test'
import { findRetiredWords } from './retired-words.ts'

test.each([
  ['/** What the client asked for. */', ['asked']],
  ['const toldToWait = isLane', ['told', 'lane']],
  ["throw new Error('A wish nobody has.')", ['wish', 'nobody']],
  ['const kept = keptReplies', ['kept']],
  ['const ownKeys = 1 // a sign of life', ['ownKeys', 'sign of life']],
])('%s has retired words', (text, words) => {
  expect(findRetiredWords(text)).toEqual(words)
})

test.each([
  '/** The plane is masked, tasked, and kept. */',
  "const fields = { model: 'kept' }",
  'rejectUnknownKeys(planes)',
  'import { ownKeyOrigin } from 008',
])('%s has none', (text) => {
  expect(findRetiredWords(text)).toEqual([])
})
