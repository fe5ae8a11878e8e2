import { sha256 } from '../platform/crypto/crypto.ts'

const maxLength = 64
const pattern = /^[a-zA-Z0-9_-]{1,64}$/

/** The id of a tool call for vendors that accept few characters. The mapping is deterministic. */
export function sanitizeToolId(id: string): string {
  if (pattern.test(id)) return id
  const hash = sha256(id).slice(0, 8)
  return `${id.slice(0, maxLength - hash.length - 1).replaceAll(/[^a-zA-Z0-9_-]/g, '_')}_${hash}`
}
