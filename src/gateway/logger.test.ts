import { describe, expect, test } from 'bun:test'
import { serializeError } from './logger.ts'

describe('errors in the log', () => {
  test('S12 only name, message, stack and code are logged, not the input an error carries', () => {
    const error = Object.assign(new TypeError('broken'), { code: 'ERR_X', input: '/signin?token=CANARY' })
    expect(serializeError(error)).toMatchObject({ name: 'TypeError', message: 'broken', code: 'ERR_X' })
    expect(JSON.stringify(serializeError(error))).not.toContain('CANARY')
  })

  test.each([[undefined], [null], ['text'], [{ a: 1 }]])(
    'a thrown value that is not an Error is logged: %p',
    (thrown) => {
      expect(typeof serializeError(thrown).message).toBe('string')
    },
  )
})
