import { resolveRequestSource } from '../../../access/client-address.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { transactAs } from '../../../governance/audit/transaction.ts'
import type { RawRoute } from '../../../http/operation.ts'
import { createPage, readForm } from '../../../http/pages/browser.ts'
import { finishSignIn, originOf, recordRefusal } from '../../../http/pages/sign-in.ts'
import { renderCodeStepPage } from '../../../http/pages/sign-in-views.ts'
import { findActiveMember, type Member } from '../../../identity/members.ts'
import { acceptTotp, claimRecoveryCode } from '../../../identity/totp.ts'
import { createSignedToken, readSignedToken } from '../../../platform/crypto/signed-token.ts'
import type { SignInMethod } from '../../../platform/db/schema.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'

const pendingTtlMs = 5 * 60_000
const pendingPurpose = 'signin/pending'

/** A sign-in that lacks the code of the authenticator app. */
interface PendingSignIn {
  userId: string
  method: SignInMethod
}

export function createPendingToken({ vault, clock }: Gateway, pending: PendingSignIn): string {
  return createSignedToken(vault, pendingPurpose, { ...pending, expiresAt: clock.now() + pendingTtlMs })
}

async function useCode(gateway: Gateway, request: Request): Promise<Response> {
  const form = await readForm(gateway, request)
  const token = form.get('pending') ?? ''
  const pending = readSignedToken<PendingSignIn & { expiresAt: number }>(gateway.vault, pendingPurpose, token)
  const isOpen = pending && pending.expiresAt > gateway.clock.now()
  const member = isOpen && (await findActiveMember(gateway.db, pending.userId))
  if (!member) throw gatewayError('forbidden', 'This page has expired. Sign in again.')
  const { ip } = resolveRequestSource(gateway, request)
  const attempt = { kind: 'code', ip, name: member.id } as const
  gateway.identity.signInLimiter.begin(attempt, gateway.clock.now())
  const code = (form.get('code') ?? '').replace(/\s/g, '')
  const problem = await checkCode(gateway, request, member, code)
  if (problem !== undefined) {
    await recordRefusal(gateway, request, { method: pending.method, reason: 'wrong code', member })
    return renderCodeStepPage(gateway, token, problem)
  }
  gateway.identity.signInLimiter.succeed(attempt)
  const signedIn = await finishSignIn(gateway, request, { member, method: pending.method })
  if (!signedIn) throw gatewayError('forbidden', 'This account cannot sign in.')
  return signedIn
}

/** Accepts a code of the app or a recovery code, once; otherwise says what is wrong. */
async function checkCode(
  gateway: Gateway,
  request: Request,
  member: Member,
  code: string,
): Promise<string | undefined> {
  return transactAs(gateway, originOf(gateway, request, member), async (tx, record) => {
    if (/^\d{6}$/.test(code)) {
      const { accepted, waitMs } = await acceptTotp(tx, gateway, member.id, code)
      if (accepted) return undefined
      if (waitMs > 0) return `Too many wrong codes. Try again in ${Math.ceil(waitMs / 1000)} seconds.`
      return 'The code is wrong or was used before.'
    }
    if (!(await claimRecoveryCode(tx, gateway.clock, member.id, code))) return 'The recovery code is wrong.'
    record({ action: 'recovery_code.use', target: { type: 'member', id: member.id } })
    return undefined
  })
}

export const codePages: RawRoute[] = [createPage('POST', '/signin/code', useCode)]
