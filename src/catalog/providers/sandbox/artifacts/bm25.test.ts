import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { rankDocuments } from './bm25.ts'

test('documents with more of the rare terms rank higher', async () => {
  const scores = await rankDocuments('capital of France', [
    'Paris is the capital of France.',
    'Berlin is the capital of Germany.',
    'Elephants live in herds.',
    'The history of the bicycle, and of everything else.',
  ])
  const [paris, berlin, elephants, bicycle] = scores as [number, number, number, number]
  expect(paris).toBeGreaterThan(berlin)
  expect(berlin).toBeGreaterThan(bicycle)
  expect(bicycle).toBeGreaterThan(elephants)
  expect(elephants).toBe(0)
})

test('a short document about the term ranks above a long one that mentions it', async () => {
  const [short, long] = await rankDocuments('bicycle', [
    'The bicycle.',
    `${'Many other things. '.repeat(50)} The bicycle.`,
  ])
  expect(short!).toBeGreaterThan(long!)
})

test('every score is between 0 and 1, one for each document', async () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', 'dog', '!')).map((words) => words.join(' '))
  await fc.assert(
    fc.asyncProperty(text, fc.array(text), async (query, documents) => {
      const scores = await rankDocuments(query, documents)
      expect(scores).toHaveLength(documents.length)
      for (const score of scores) expect(score >= 0 && score <= 1).toBe(true)
    }),
  )
})
