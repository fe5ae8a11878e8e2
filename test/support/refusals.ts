import { expect } from 'bun:test'
import type { TestResponse } from './harness.ts'

/** A refusal within the organization names the permission that is missing. */
export function expectRefused({ status, body }: TestResponse, permission: string | RegExp): void {
  expect(status).toBe(403)
  expect(body.error.metadata.permission).toMatch(permission)
  expect(body.error.message).toContain(body.error.metadata.permission)
}
