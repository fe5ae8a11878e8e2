import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { NumberList } from '../../platform/json/number-lists.ts'
import { convertVector, encodeVector, maxDimensions } from './vector.ts'

const numbers = fc
  .array(fc.float({ noNaN: true, noDefaultInfinity: true }), { minLength: 1 })
  .map((list) => Float32Array.from(list))

describe('vectors', () => {
  test('in the requested encoding are passed on as they are', () => {
    expect(convertVector(new NumberList('[ 0.10, 2e-5]'), 'float')).toBe('[ 0.10, 2e-5]')
    expect(convertVector('AACAPw==', 'base64')).toBe('"AACAPw=="')
  })

  test('are converted exactly, from either encoding', () => {
    fc.assert(
      fc.property(numbers, (vector) => {
        const [float, base64] = [encodeVector(vector, 'float'), encodeVector(vector, 'base64')]
        expect(Float32Array.from(JSON.parse(float))).toEqual(vector.map((value) => value + 0))
        expect(convertVector(new NumberList(float), 'base64')).toBe(
          encodeVector(
            vector.map((value) => value + 0),
            'base64',
          ),
        )
        expect(convertVector(JSON.parse(base64), 'float')).toBe(float)
      }),
    )
  })

  test('base64 is little-endian', () => {
    expect(encodeVector(Float32Array.of(1), 'base64')).toBe('"AACAPw=="')
  })

  test('anything else is none', () => {
    const infinite = JSON.parse(encodeVector(Float32Array.of(Number.POSITIVE_INFINITY), 'base64'))
    for (const vector of ['', 'AAAA', 'not base64', 'AACA"w==', infinite])
      expect(convertVector(vector, 'float')).toBeNull()
    for (const text of ['[1,,2]', '[1,]']) {
      expect(convertVector(new NumberList(text), 'float')).toBeNull()
      expect(convertVector(new NumberList(text), 'base64')).toBeNull()
    }
  })

  test('S13 none is longer than those that can be requested', () => {
    const longest = new Float32Array(maxDimensions).fill(-0.12345678)
    const tooLong = new Float32Array(4 * maxDimensions).fill(-0.12345678)
    for (const encoding of ['float', 'base64'] as const) {
      const convert = (numbers: Float32Array) => [
        convertVector(new NumberList(encodeVector(numbers, 'float')), encoding),
        convertVector(JSON.parse(encodeVector(numbers, 'base64')), encoding),
      ]
      expect(convert(longest)).toEqual([expect.any(String), expect.any(String)])
      expect(convert(tooLong)).toEqual([null, null])
    }
  })
})
