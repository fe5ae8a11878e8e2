import { fail, GatewayError } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { verifierFits } from './codes.ts'
import { findCode, redeem, revokeKeyOf } from './store.ts'

interface Exchange {
  code: string
  code_verifier?: string | undefined
  code_challenge_method?: 'S256' | 'plain' | null | undefined
}

/** Trades a code for its key. All refusals but one read the same, so that they tell a thief nothing. */
export async function exchangeCode(gateway: Gateway, sent: Exchange) {
  const { db, clock } = gateway
  const code = await findCode(db, clock, sent.code)
  if (!code) throw refused()
  const method = sent.code_challenge_method ?? code.code_challenge_method
  if (method !== code.code_challenge_method) {
    throw fail('invalid_request', 'code_challenge_method: is not the one the code was made with.')
  }
  if (!verifierFits(code, sent.code_verifier)) throw refused()
  if (code.used_at !== null) {
    await revokeKeyOf(db, clock, code)
    throw refused()
  }
  if (code.key_expires_at !== null && Date.parse(code.key_expires_at) <= clock.now()) throw refused()
  const key = await redeem(gateway, code).catch(ownersGone)
  if (key === undefined) throw refused()
  return { key, user_id: code.user_id }
}

/** The workspace was deleted or the member removed: to who holds the code, that is a code that does not work. */
function ownersGone(error: unknown): undefined {
  if (error instanceof GatewayError && error.code === 'conflict') return undefined
  throw error
}

function refused(): GatewayError {
  return fail('forbidden', 'The code is unknown, used or expired, or the verifier does not fit it.')
}
