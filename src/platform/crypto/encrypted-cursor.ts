import { invalidFieldError } from '../errors/gateway-error.ts'
import type { TimePosition } from '../time/time-cursor.ts'
import type { Vault } from './crypto.ts'

/** Encrypted, so that a changed one is rejected, and one of another list or organization. */
export function encryptTimeCursor(vault: Vault, context: string, { created_at, id }: TimePosition): string {
  return vault.encrypt(JSON.stringify([created_at, id]), context)
}

/** Null for the start of the list. */
export function openTimeCursor(
  vault: Vault,
  context: string,
  cursor: string | undefined,
): TimePosition | null {
  if (cursor === undefined) return null
  try {
    const [created_at, id] = JSON.parse(vault.decrypt(cursor, context))
    return { created_at, id }
  } catch {
    throw invalidFieldError('cursor', 'is not a cursor of this list')
  }
}
