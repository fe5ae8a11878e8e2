import { describe, expect, test } from 'bun:test'
import { decodeError } from './error.ts'

describe('errors with a status', () => {
  const body = (status: string, message: string, details: object[] = []) => ({
    error: { code: 400, status, message, details },
  })

  test('are classified by status name, reason and message', () => {
    const kind = (status: number, value: unknown) => decodeError(status, value).kind
    const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }
    expect(kind(400, body('INVALID_ARGUMENT', 'API key not valid.', [info]))).toBe('authentication')
    expect(
      kind(400, [
        body(
          'INVALID_ARGUMENT',
          'The input token count (9) exceeds the maximum number of tokens allowed (8).',
        ),
      ]),
    ).toBe('context_length_exceeded')
    expect(kind(400, body('INVALID_ARGUMENT', 'Unknown name "x"'))).toBe('invalid_request')
    expect(kind(403, body('PERMISSION_DENIED', 'no'))).toBe('permission_denied')
    expect(kind(404, body('NOT_FOUND', 'no'))).toBe('not_found')
    expect(kind(503, body('UNAVAILABLE', 'overloaded'))).toBe('provider_overloaded')
    expect(kind(500, '<html>')).toBe('provider_unavailable')
    expect(kind(504, null)).toBe('timeout')
  })

  test('have the retry delay', () => {
    const wait = (retryDelay: string) =>
      decodeError(429, body('RESOURCE_EXHAUSTED', 'quota', [{ violations: [] }, { retryDelay }]))
    expect(wait('38s')).toMatchObject({ kind: 'rate_limit_exceeded', retryAfterMs: 38_000 })
    expect(wait('1.5s').retryAfterMs).toBe(1500)
    expect(wait('soon').retryAfterMs).toBeUndefined()
  })
})
