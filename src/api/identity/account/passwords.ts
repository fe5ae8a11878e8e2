import { z } from 'zod'
import type { Caller } from '../../../access/caller.ts'
import { resolveRequestSource } from '../../../access/client-address.ts'
import { transact } from '../../../access/transact.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { defineOperation } from '../../../http/operation.ts'
import { emailOf } from '../../../identity/members.ts'
import {
  deletePassword,
  findPassword,
  findPasswordProblem,
  hashPassword,
  maxPasswordLength,
  minPasswordLength,
  storePassword,
  verifyPassword,
} from '../../../identity/passwords.ts'
import { deleteSessions } from '../../../identity/sessions.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { isRecentlySignedIn, recentSignInNote, requireAccount } from './recent.ts'
import { removeSignInMethod } from './remove.ts'

const passwordBody = z.strictObject({
  password: z
    .string()
    .min(1)
    .max(maxPasswordLength * 2)
    .describe(`${minPasswordLength} to ${maxPasswordLength} characters, not a common password.`),
  current_password: z
    .string()
    .min(1)
    .max(maxPasswordLength * 2)
    .optional()
    .describe('Required unless the sign-in is less than 15 minutes old.'),
})

export const setAccountPassword = defineOperation({
  id: 'setAccountPassword',
  method: 'PUT',
  path: '/account/password',
  tag: 'Account',
  summary: 'Sets or changes the password of the member who is signed in. Other sessions end.',
  permission: 'account:write',
  body: passwordBody,
  errors: [429],
  response: z.strictObject({ updated: z.literal(true) }),
  handle: async (context) => {
    const { gateway, caller, body, httpRequest } = context
    const member = await requireAccount(gateway, caller)
    await verifyCurrentPassword(gateway, caller, httpRequest, body.current_password)
    const problem = findPasswordProblem(body.password, emailOf(member))
    if (problem) throw invalidFieldError('password', problem)
    const hash = await hashPassword(gateway.identity.passwordQueue, body.password)
    await transact(context, async (tx, record) => {
      await storePassword(tx, gateway.clock, member.id, hash)
      await deleteSessions(tx, member.id, { exceptId: caller.session?.session.id })
      record({ action: 'password.update', target: { type: 'member', id: member.id } })
    })
    return { updated: true as const }
  },
})

/** A password that is sent must be right; without one, the sign-in must be recent. */
async function verifyCurrentPassword(
  gateway: Gateway,
  caller: Caller,
  httpRequest: Request,
  current: string | undefined,
): Promise<void> {
  if (current === undefined) {
    if (isRecentlySignedIn(gateway, caller)) return
    throw invalidFieldError('current_password', 'is required: the sign-in is more than 15 minutes old')
  }
  const userId = caller.userId ?? ''
  const { ip } = resolveRequestSource(gateway, httpRequest)
  const attempt = { kind: 'password', ip, name: userId } as const
  gateway.identity.signInLimiter.begin(attempt, gateway.clock.now())
  const stored = await findPassword(gateway.db, userId)
  if (!(await verifyPassword(gateway.identity.passwordQueue, current, stored?.password_hash)))
    throw gatewayError('forbidden', 'current_password: is wrong.')
  gateway.identity.signInLimiter.succeed(attempt)
}

export const deleteAccountPassword = defineOperation({
  id: 'deleteAccountPassword',
  method: 'DELETE',
  path: '/account/password',
  tag: 'Account',
  summary: 'Removes the password of the member who is signed in, who then signs in with other methods.',
  description: recentSignInNote,
  permission: 'account:write',
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (context) =>
    removeSignInMethod(context, {
      action: 'password.delete',
      missing: 'There is no password.',
      remove: async (tx, id) => ((await deletePassword(tx, id)) ? { type: 'member', id } : undefined),
    }),
})
