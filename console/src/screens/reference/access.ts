import { mayDo, mayDoEverywhere, type Session } from '../../app/session.tsx'
import type { Operation } from './document.ts'

/** The reason somebody cannot call an operation; null if they can. */
export type Refusal = 'signed_out' | 'permission' | null

export function findRefusal(session: Session | null, operation: Operation): Refusal {
  const permission = operation['x-headgate-permission']
  if (!permission) return null
  if (!session) return 'signed_out'
  const isEverywhere = operation['x-headgate-scope'] === 'organization'
  return (isEverywhere ? mayDoEverywhere : mayDo)(session, permission) ? null : 'permission'
}
