import type { Settlement } from './engine.ts'

/** Closes a hold whose request reached no provider. */
export function createRelease(id: string, organizationId: string): Settlement {
  const spent = { amount: 0n, byok: 0n }
  return {
    op: 'settle',
    id,
    organizationId,
    isByok: false,
    spent,
    generation: null,
    meteredIn: null,
    extraStatements: [],
  }
}
