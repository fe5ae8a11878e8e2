import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { embedText } from './vectors.ts'

async function similarity(a: string, b: string, dimensions = 512): Promise<number> {
  const [first, second] = [await embedText(a, dimensions), await embedText(b, dimensions)]
  return first.reduce((sum, value, index) => sum + value * second[index]!, 0)
}

test('similar sentences are closer than unrelated ones', async () => {
  const sentence = 'The invoice for the third quarter has not been paid yet.'
  const similar = await similarity(sentence, 'Has the invoice of the third quarter been paid?')
  const related = await similarity(sentence, 'Unpaid invoices are listed in the accounting system.')
  const unrelated = await similarity(sentence, 'Elephants live in herds led by an old female.')
  expect(similar).toBeGreaterThan(0.6)
  expect(related).toBeGreaterThan(unrelated + 0.1)
  expect(Math.abs(unrelated)).toBeLessThan(0.2)
})

test('forms of a word, case and punctuation keep texts close', async () => {
  expect(await similarity('Payments', 'payment')).toBeGreaterThan(0.3)
  expect(await similarity('Hello, World!', 'hello world')).toBeCloseTo(1)
})

test('every text has a vector of unit length, the same each time', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'grapheme' }),
      fc.integer({ min: 1, max: 4096 }),
      async (text, dimensions) => {
        const vector = await embedText(text, dimensions)
        expect(vector).toHaveLength(dimensions)
        expect(vector.reduce((sum, value) => sum + value * value, 0)).toBeCloseTo(1, 4)
        expect(await embedText(text, dimensions)).toEqual(vector)
      },
    ),
  )
})

test('dimensions outside 1 to 4096 are refused', async () => {
  for (const dimensions of [0, 4097, 1.5, Number.NaN]) {
    await expect(embedText('text', dimensions)).rejects.toThrow(RangeError)
  }
})

test('S13 a long text does not hold the event loop', async () => {
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  await embedText('long words and '.repeat(50_000), 1536)
  clearInterval(timer)
  expect(turns).toBeGreaterThan(5)
})
