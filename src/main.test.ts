import { describe, expect, test } from 'bun:test'
import { serializeError } from './main.ts'

describe('errors in the log', () => {
  test('S12 only what finds a fault is written: an input an error carries is not', () => {
    const error = Object.assign(new TypeError('broken'), { code: 'ERR_X', input: '/signin?token=CANARY' })
    expect(serializeError(error)).toMatchObject({ name: 'TypeError', message: 'broken', code: 'ERR_X' })
    expect(JSON.stringify(serializeError(error))).not.toContain('CANARY')
  })

  test.each([[undefined], [null], ['text'], [{ a: 1 }]])(
    'what is thrown need not be an error: %p',
    (thrown) => {
      expect(typeof serializeError(thrown).message).toBe('string')
    },
  )
})
