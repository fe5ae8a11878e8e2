import { describe, expect, test } from 'bun:test'
import { measureAccuracy } from './corpus/accuracy.ts'
import { readCorpus } from './corpus/corpus.ts'
import { type DetectorSlug, detectorSlugs } from './detectors.ts'

/** The least precision and recall on passages that the detectors were not tuned on. */
const floors: Record<DetectorSlug, [precision: number, recall: number]> = {
  email: [0.98, 0.97],
  phone: [0.98, 0.97],
  ssn: [0.99, 0.99],
  'credit-card': [0.99, 0.99],
  'ip-address': [0.98, 0.97],
  'person-name': [0.95, 0.95],
  address: [0.95, 0.95],
  secrets: [0.99, 0.99],
  'regex-prompt-injection': [0.96, 0.93],
}

const corpus = readCorpus()

describe('accuracy on the corpus', () => {
  test('both halves have marks of every kind', () => {
    for (const isHeldOut of [true, false]) {
      const half = corpus.filter((passage) => passage.isHeldOut === isHeldOut)
      expect(half.length).toBeGreaterThan(180)
      const slugs = new Set(half.flatMap(({ marks }) => marks.map(({ slug }) => slug)))
      expect([...slugs].sort()).toEqual([...detectorSlugs].sort())
    }
  })

  test('no mark is left in a text', () => {
    for (const { text } of corpus) expect(text).not.toMatch(/[⟦⟧]|\{\{/)
  })

  const accuracy = measureAccuracy(corpus.filter(({ isHeldOut }) => isHeldOut))
  test.each(detectorSlugs)('%s finds what it must, and little else', (slug) => {
    const { precision, recall, wrong, missed } = accuracy[slug]
    const [minPrecision, minRecall] = floors[slug]
    const isGood = precision >= minPrecision && recall >= minRecall
    expect(isGood ? [] : { precision, recall, wrong, missed }).toEqual([])
  })
})
