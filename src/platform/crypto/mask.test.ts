import { describe, expect, test } from 'bun:test'
import { fullMask, isMasked, maskSecret, maskUserinfo } from './mask.ts'

describe('masking', () => {
  test('S12 the user name and password of a URL are masked', () => {
    expect(maskUserinfo('http://them:secret@one.test:8080/v1')).toBe(`http://${fullMask}@one.test:8080/v1`)
    expect(maskUserinfo('http://them:p@ss@one.test/v1')).toBe(`http://${fullMask}@one.test/v1`)
    expect(maskUserinfo('https://one.test/v1/@x')).toBe('https://one.test/v1/@x')
  })

  test('S12 a long secret shows three characters at each end, a short one none', () => {
    expect(maskSecret('sk-0123456789abcdef-xyz')).toBe('sk-********xyz')
    expect(maskSecret('x'.repeat(20))).toBe('xxx********xxx')
    expect(maskSecret('x'.repeat(19))).toBe(fullMask)
    expect(maskSecret('')).toBe(fullMask)
  })

  test('surrogate pairs are not split', () => {
    expect(maskSecret('🔑'.repeat(20))).toBe('🔑🔑🔑********🔑🔑🔑')
  })

  test.each([fullMask, maskSecret('a'.repeat(30)), maskSecret('🔑'.repeat(30))])(
    '%s is known as a mask',
    (text) => {
      expect(isMasked(text)).toBe(true)
    },
  )

  test.each(['', '*******', '*********', 'sk-0123456789abcdef-xyz', 'ab********yz'])(
    '%j is a value of its own',
    (text) => {
      expect(isMasked(text)).toBe(false)
    },
  )
})
