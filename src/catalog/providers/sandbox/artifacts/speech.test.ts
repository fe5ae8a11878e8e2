import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { countSpeechSamples, listen, speak } from './speech.ts'
import { speechSampleRate, type Voice, voices } from './tones.ts'

function record(text: string, voice: Voice = 'middle', speed = 1): Int16Array {
  const chunks = [...speak(text, { voice, speed })]
  return Int16Array.from(chunks.flatMap((chunk) => [...chunk]))
}

/** Linear interpolation, the crudest a recorder would do. */
function resample(samples: Int16Array, rate: number): Int16Array {
  return Int16Array.from({ length: Math.floor((samples.length * rate) / speechSampleRate) }, (_, index) => {
    const at = (index * speechSampleRate) / rate
    const [before, after] = [samples[Math.floor(at)] ?? 0, samples[Math.floor(at) + 1] ?? 0]
    return Math.round(before + (after - before) * (at % 1))
  })
}

test('a spoken text is read back with the times of its words', async () => {
  const samples = record('Hello big world.')
  const { text, words, duration } = await listen(samples, speechSampleRate)
  expect(text).toBe('Hello big world.')
  expect(words.map(({ word }) => word)).toEqual(['Hello', 'big', 'world.'])
  expect(duration).toBeCloseTo(samples.length / speechSampleRate)
  const [hello, big, world] = words as [(typeof words)[0], (typeof words)[0], (typeof words)[0]]
  expect(hello.end - hello.start).toBeCloseTo(5 / 15, 2)
  expect(big.start - hello.end).toBeCloseTo(1 / 15, 2)
  expect(world.end).toBeLessThan(duration)
})

test('the length follows the text and the speed, and is known in advance', () => {
  const text = 'Fifteen letters'.repeat(4)
  for (const speed of [0.25, 1, 1.7, 4]) {
    const samples = record(text, 'low', speed)
    expect(samples).toHaveLength(countSpeechSamples(text, speed))
    const spoken = 4 / speed
    expect(samples.length / speechSampleRate - spoken).toBeLessThan(0.3 + 0.3 / speed)
  }
  expect(() => countSpeechSamples(text, 5)).toThrow(RangeError)
})

test.each([...voices])('the voice %s is read at every speed and sample rate', async (voice) => {
  const text = 'Größe: 42 €, "ok"? 日本'
  for (const speed of [0.25, 1, 4]) {
    const samples = record(text, voice, speed)
    for (const rate of [8000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000]) {
      const { text: heard } = await listen(resample(samples, rate), rate)
      expect([speed, rate, heard]).toEqual([speed, rate, text])
    }
  }
})

test('any text is read back', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 20 }), async (text) => {
      const { text: heard } = await listen(record(text, 'high', 4), speechSampleRate)
      expect(heard).toBe(text)
    }),
    { numRuns: 30 },
  )
})

test('silence around the recording and a lower volume do no harm', async () => {
  const spoken = record('A quiet word').map((sample) => Math.round(sample / 20))
  const samples = new Int16Array(spoken.length + 100_000)
  samples.set(spoken, 31_415)
  const { text, words } = await listen(samples, speechSampleRate)
  expect(text).toBe('A quiet word')
  expect(words[0]!.start).toBeGreaterThan(31_415 / speechSampleRate)
})

test('foreign, silent, cut and changed recordings have no text', async () => {
  const spoken = record('Some words to change')
  const changed = spoken.slice()
  changed.copyWithin(16_000, 20_000, 24_000)
  const noise = Int16Array.from({ length: 50_000 }, (_, index) => ((index * 7919 * index) % 20_000) - 10_000)
  const tone = Int16Array.from({ length: 50_000 }, (_, index) => 9000 * Math.sin(index / 9))
  const foreign = [new Int16Array(0), new Int16Array(50_000), noise, tone, spoken.slice(0, -9000), changed]
  for (const samples of foreign) {
    const duration = samples.length / speechSampleRate
    expect(await listen(samples, speechSampleRate)).toEqual({ text: null, words: [], duration })
  }
})
