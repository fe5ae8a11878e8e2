import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { countCompletionTokens, countPromptTokens, zeroUsage } from '../call/usage.ts'
import { decodeUsage } from './usage.ts'

describe('R9: usage', () => {
  const count = (modality: string, tokenCount: number) => ({ modality, tokenCount })

  test('has disjoint counts', () => {
    const usage = decodeUsage(
      {
        promptTokenCount: 1000,
        cachedContentTokenCount: 300,
        toolUsePromptTokenCount: 50,
        candidatesTokenCount: 200,
        thoughtsTokenCount: 70,
        totalTokenCount: 1320,
        promptTokensDetails: [
          count('TEXT', 400),
          count('AUDIO', 250),
          count('IMAGE', 258),
          count('VIDEO', 92),
        ],
        cacheTokensDetails: [count('AUDIO', 100), count('TEXT', 200)],
        candidatesTokensDetails: [count('IMAGE', 120), count('TEXT', 80)],
      },
      0,
    )
    expect(usage).toEqual({
      ...zeroUsage,
      cacheRead: 200,
      cacheReadAudio: 100,
      inputAudio: 150,
      inputImage: 258,
      inputVideo: 92,
      input: 250,
      output: 80,
      outputImage: 120,
      reasoning: 70,
    })
  })

  test('counts thoughts once if the candidates include them', () => {
    const meta = {
      promptTokenCount: 10,
      candidatesTokenCount: 30,
      thoughtsTokenCount: 20,
      totalTokenCount: 40,
    }
    expect(decodeUsage(meta, 0)).toMatchObject({ input: 10, output: 10, reasoning: 20 })
  })

  test('adds up to the prompt whatever the details are, and invalid counts are ignored', () => {
    const number = fc.oneof(fc.nat(1e6), fc.constantFrom(-5, 1e18, '7', null, Number.NaN, 1.5))
    const detail = fc.array(
      fc.record({ modality: fc.constantFrom('TEXT', 'AUDIO', 'IMAGE', 'VIDEO'), tokenCount: number }),
      { maxLength: 4 },
    )
    fc.assert(
      fc.property(
        fc.nat(1e6),
        number,
        detail,
        detail,
        number,
        (prompt, cached, details, cachedDetails, output) => {
          const usage = decodeUsage(
            {
              promptTokenCount: prompt,
              cachedContentTokenCount: cached,
              promptTokensDetails: details,
              cacheTokensDetails: cachedDetails,
              candidatesTokenCount: output,
              candidatesTokensDetails: details,
            },
            0,
          )
          if (!usage) throw new Error('no usage')
          expect(countPromptTokens(usage)).toBe(prompt)
          expect(countCompletionTokens(usage)).toBe(
            Number.isSafeInteger(output) && Number(output) > 0 && typeof output === 'number' ? output : 0,
          )
          expect(Object.values(usage).every((bucket) => bucket === null || bucket >= 0)).toBe(true)
        },
      ),
    )
  })
})
