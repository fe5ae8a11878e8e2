import { describe, expect, test } from 'bun:test'
import { fullMask, isMasked, mask, maskUser } from './mask.ts'

describe('masking', () => {
  test('S12 a user and a password in an address are not shown', () => {
    expect(maskUser('http://them:secret@one.test:8080/v1')).toBe(`http://${fullMask}@one.test:8080/v1`)
    expect(maskUser('http://them:p@ss@one.test/v1')).toBe(`http://${fullMask}@one.test/v1`)
    expect(maskUser('https://one.test/v1/@x')).toBe('https://one.test/v1/@x')
  })

  test('S12 a long secret shows three characters at each end, a short one none', () => {
    expect(mask('sk-0123456789abcdef-xyz')).toBe('sk-********xyz')
    expect(mask('x'.repeat(20))).toBe('xxx********xxx')
    expect(mask('x'.repeat(19))).toBe(fullMask)
    expect(mask('')).toBe(fullMask)
  })

  test('characters outside the first plane are not torn apart', () => {
    expect(mask('🔑'.repeat(20))).toBe('🔑🔑🔑********🔑🔑🔑')
  })

  test.each([fullMask, mask('a'.repeat(30)), mask('🔑'.repeat(30))])('%s is known as a mask', (text) => {
    expect(isMasked(text)).toBe(true)
  })

  test.each(['', '*******', '*********', 'sk-0123456789abcdef-xyz', 'ab********yz'])(
    '%j is a value of its own',
    (text) => {
      expect(isMasked(text)).toBe(false)
    },
  )
})
