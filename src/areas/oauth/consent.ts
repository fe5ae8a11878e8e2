import type { Member } from '../../account/members.ts'
import { closeSession } from '../../account/sessions.ts'
import { defaultWorkspace } from '../../account/workspaces.ts'
import { badField } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { usdFromNanos } from '../../ledger/money.ts'
import { requestUrl } from '../../lib/url.ts'
import type { Page } from '../../operation.ts'
import {
  csrfToken,
  fieldsOf,
  page,
  readForm,
  refuseForgery,
  seeOther,
  setSession,
  type Visitor,
  visitorOf,
} from './browser.ts'
import { type CodeWish, checkWish, consentRequest, returnUrl } from './codes.ts'
import { issueCode } from './issue.ts'
import { askToSignIn } from './signin.ts'
import { codePage, consentPage, deniedPage } from './views.ts'

const purpose = 'oauth/consent'

/** What an app may put into the link. */
const linkFields = ['callback_url', 'code_challenge', 'code_challenge_method', 'key_label']
/** What the member adds; left empty in the form, they are absent. */
const choiceFields = ['limit', 'usage_limit_type']

/** Admins may make keys without a limit. */
function mostPerKey({ settings }: Gateway, { role }: Member): bigint | null {
  return role === 'org:admin' ? null : settings.oauth.member_key_limit
}

function readWish(fields: Map<string, string>): CodeWish {
  const result = consentRequest.safeParse(Object.fromEntries(fields))
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw badField(issue?.path.join('.') ?? 'query', issue?.message ?? 'is not valid')
}

function pick(fields: Map<string, string>, names: string[]): Map<string, string> {
  return new Map([...fields].filter(([name]) => names.includes(name)))
}

async function showConsent(gateway: Gateway, request: Request): Promise<Response> {
  const visitor = await visitorOf(gateway, request)
  if (!visitor) return askToSignIn(gateway, request)
  const wish = readWish(pick(fieldsOf(requestUrl(request).searchParams), linkFields))
  checkWish(gateway, wish)
  const workspace = await defaultWorkspace(gateway.db, visitor.member.organization_id)
  const most = mostPerKey(gateway, visitor.member)
  return consentPage({
    member: visitor.member,
    workspaceName: workspace.name,
    wish,
    csrf: csrfToken(gateway, visitor, purpose),
    mostPerKey: most === null ? null : usdFromNanos(most),
  })
}

async function decide(gateway: Gateway, request: Request): Promise<Response> {
  const form = await readForm(gateway, request)
  const visitor = await visitorOf(gateway, request)
  if (!visitor) return askToSignIn(gateway, request)
  refuseForgery(gateway, visitor, purpose, form.get('csrf'))
  const choices = [...pick(form, choiceFields)].filter(([, value]) => value.trim() !== '')
  const wish = readWish(new Map([...pick(form, linkFields), ...choices]))
  const decision = form.get('decision')
  if (decision === 'deny') return leave(gateway, request, visitor, deny(wish), wish)
  if (decision !== 'approve') throw badField('decision', 'must be approve or deny')
  const owner = {
    organizationId: visitor.member.organization_id,
    userId: visitor.member.id,
    mostPerKey: mostPerKey(gateway, visitor.member),
  }
  const { code } = await issueCode(gateway, owner, wish)
  const answer = wish.callback_url ? seeOther(returnUrl(wish.callback_url, { code })) : codePage(code)
  return leave(gateway, request, visitor, answer, wish)
}

/** Browsers send cookies to every port of a host: an app beside us must not get the session with its code. */
async function leave(
  gateway: Gateway,
  request: Request,
  visitor: Visitor,
  answer: Response,
  { callback_url }: CodeWish,
): Promise<Response> {
  if (callback_url?.hostname !== requestUrl(request).hostname) return answer
  await closeSession(gateway.db, visitor.sessionToken)
  return setSession(gateway, request, answer, '')
}

function deny({ callback_url }: CodeWish): Response {
  return callback_url ? seeOther(returnUrl(callback_url, { error: 'access_denied' })) : deniedPage()
}

export const consentPages: Page[] = [page('GET', '/auth', showConsent), page('POST', '/auth', decide)]
