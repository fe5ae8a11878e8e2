import { acceptCredential } from '../../../access/request-limits.ts'
import type { AuditedRequest } from '../../../access/transact.ts'
import { GatewayError, gatewayError } from '../../../platform/errors/gateway-error.ts'
import { isVerifierValid } from './codes.ts'
import { findCode, redeemCode, revokeKey } from './store.ts'

interface ExchangeRequest {
  code: string
  code_verifier?: string | undefined
  code_challenge_method?: 'S256' | 'plain' | null | undefined
}

/** Exchanges a code for its key. All errors but one read the same, so that they reveal nothing to an attacker. */
export async function exchangeCode(request: AuditedRequest, sent: ExchangeRequest) {
  const { db, clock } = request.gateway
  const code = await findCode(db, clock, sent.code)
  if (!code) throw invalidCodeError()
  const method = sent.code_challenge_method ?? code.code_challenge_method
  if (method !== code.code_challenge_method) {
    throw gatewayError('invalid_request', 'code_challenge_method: does not match the method of the code.')
  }
  if (!isVerifierValid(code, sent.code_verifier)) throw invalidCodeError()
  if (code.used_at !== null) {
    await revokeKey(request, code)
    throw invalidCodeError()
  }
  if (code.key_expires_at !== null && Date.parse(code.key_expires_at) <= clock.now()) throw invalidCodeError()
  acceptCredential(request.httpRequest)
  const key = await redeemCode(request, code).catch(ignoreConflict)
  if (key === undefined) throw invalidCodeError()
  return { key, user_id: code.user_id }
}

/** A code whose workspace or member is gone is reported as an invalid code. */
function ignoreConflict(error: unknown): undefined {
  if (error instanceof GatewayError && error.code === 'conflict') return undefined
  throw error
}

function invalidCodeError(): GatewayError {
  return gatewayError('forbidden', 'The code is unknown, used or expired, or the code verifier is wrong.')
}
