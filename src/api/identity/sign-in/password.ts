import { resolveRequestSource } from '../../../access/client-address.ts'
import { resolvePublicUrl } from '../../../access/origin.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { RawRoute } from '../../../http/operation.ts'
import { createPage, readForm } from '../../../http/pages/browser.ts'
import { finishSignIn, recordRefusal } from '../../../http/pages/sign-in.ts'
import {
  type MethodsView,
  renderCodeStepPage,
  renderMailSentPage,
  renderMethodsPage,
} from '../../../http/pages/sign-in-views.ts'
import { findMembersByAddress, type Member, tryLockMember } from '../../../identity/members.ts'
import { listPasswords, verifyPassword } from '../../../identity/passwords.ts'
import { countMailedLinks, createSignInToken } from '../../../identity/sessions.ts'
import { findSignInRule } from '../../../identity/sign-in-rules.ts'
import { requiresCode } from '../../../identity/totp.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { subsystemLog } from '../../../platform/logging/subsystem-log.ts'
import { canSendMail, sendMailInBackground } from '../../../platform/mail/send-mail.ts'
import { createPendingToken } from './code.ts'

const wrongPassword = 'The address or the password is wrong.'

/** The text that was entered, which may be no address at all: the pages show the same then. */
async function readAddress(gateway: Gateway, request: Request) {
  const form = await readForm(gateway, request)
  const email = (form.get('email') ?? '').trim()
  if (email === '' || email.length > 254) throw invalidFieldError('email', 'must be an e-mail address')
  const { ip } = resolveRequestSource(gateway, request)
  return { form, email, attempt: { kind: 'password', ip, name: email.toLowerCase() } as const }
}

async function showMethods(gateway: Gateway, request: Request): Promise<Response> {
  const { email } = await readAddress(gateway, request)
  return renderMethodsPage(gateway, await describeMethods(gateway, email))
}

/** Single sign-on is shown for all addresses of a domain, whether or not members have them. */
async function describeMethods(gateway: Gateway, email: string): Promise<MethodsView> {
  const rule = await findSignInRule(gateway.db, email)
  const provider = rule && { name: rule.connection.name, path: `signin/oidc/${rule.connection.id}` }
  return { email, canMail: canSendMail(gateway), ...(provider && { provider }) }
}

async function usePassword(gateway: Gateway, request: Request): Promise<Response> {
  const { form, email, attempt } = await readAddress(gateway, request)
  gateway.identity.signInLimiter.begin(attempt, gateway.clock.now())
  const members = await findMembersByAddress(gateway.db, email)
  const member = await findByPassword(gateway, members, form.get('password') ?? '')
  if (!member) {
    await recordRefusal(gateway, request, {
      method: 'password',
      reason: members.length === 0 ? 'unknown address' : 'wrong password',
      member: members[0] ?? null,
    })
    return refuse(gateway, email)
  }
  gateway.identity.signInLimiter.succeed(attempt)
  if (await requiresCode(gateway.db, member.id)) {
    const pending = createPendingToken(gateway, { userId: member.id, method: 'password' })
    return renderCodeStepPage(gateway, pending)
  }
  return (await finishSignIn(gateway, request, { member, method: 'password' })) ?? refuse(gateway, email)
}

async function refuse(gateway: Gateway, email: string): Promise<Response> {
  const methods = await describeMethods(gateway, email)
  return renderMethodsPage(gateway, { ...methods, status: 401, problem: wrongPassword })
}

/** One verification at least, whether or not the address and a password exist. */
async function findByPassword(
  { db, identity }: Gateway,
  members: Member[],
  password: string,
): Promise<Member | undefined> {
  const userIds = members.map(({ id }) => id)
  const passwords = await listPasswords(db, userIds)
  if (passwords.length === 0) await verifyPassword(identity.passwordQueue, password, undefined)
  const results = await Promise.all(
    passwords.map(({ password_hash }) => verifyPassword(identity.passwordQueue, password, password_hash)),
  )
  const right = passwords.find((_, i) => results[i])
  return members.find(({ id }) => id === right?.user_id)
}

async function mailLink(gateway: Gateway, request: Request): Promise<Response> {
  const { email, attempt } = await readAddress(gateway, request)
  if (!canSendMail(gateway)) throw gatewayError('not_found', 'This server cannot send mail.')
  gateway.identity.signInLimiter.begin({ ...attempt, kind: 'mail' }, gateway.clock.now())
  const members = await findMembersByAddress(gateway.db, email)
  // The reply does not wait for it, so its time does not tell whether there is a member.
  void sendLinks(gateway, request, members).catch((err: unknown) =>
    subsystemLog(gateway.log, 'identity').warn({ err }, 'sign-in link not sent'),
  )
  return renderMailSentPage(gateway, email)
}

/** Mailed links of a member at a time, however many clients request them. */
const maxMailedLinks = 5

/** Undefined if there are enough. The member is locked, so that concurrent requests are counted. */
async function createMailedLink({ db, clock }: Gateway, member: Member): Promise<string | undefined> {
  return db.transaction().execute(async (tx) => {
    if (!(await tryLockMember(tx, member.organization_id, member.id))) return undefined
    if ((await countMailedLinks(tx, clock, member.id)) >= maxMailedLinks) return undefined
    return createSignInToken(tx, clock, member.id, 'email')
  })
}

async function sendLinks(gateway: Gateway, request: Request, members: Member[]): Promise<void> {
  const site = resolvePublicUrl(gateway, request)
  for (const member of members) {
    const token = await createMailedLink(gateway, member)
    if (token === undefined) continue
    const link = `${site}/signin?token=${token}`
    sendMailInBackground(gateway, {
      to: member.email,
      subject: 'Sign in to Headgate',
      text: `Open this link to sign in to Headgate. It is valid once, for 15 minutes.\n\n${link}\n\nIf you did not request it, ignore this mail.\n`,
    })
  }
}

export const passwordPages: RawRoute[] = [
  createPage('POST', '/signin/methods', showMethods),
  createPage('POST', '/signin/password', usePassword),
  createPage('POST', '/signin/email', mailLink),
]
