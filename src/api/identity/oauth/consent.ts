import { originOfMember } from '../../../access/transact.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { RawRoute } from '../../../http/operation.ts'
import {
  createCsrfToken,
  createPage,
  findVisitor,
  parseFields,
  readForm,
  redirectSeeOther,
  setSessionCookie,
  type Visitor,
  verifyCsrfToken,
} from '../../../http/pages/browser.ts'
import { promptSignIn, signOut } from '../../../http/pages/sign-in.ts'
import { loadMemberGrant } from '../../../identity/member-grant.ts'
import { resolveMaxKeyLimit } from '../../../identity/member-key-limit.ts'
import type { Member } from '../../../identity/members.ts'
import { assertWithinScope, resolveScope, type Scope } from '../../../identity/permissions/grant.ts'
import { requireDefaultWorkspace } from '../../../identity/workspaces.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { parseRequestUrl } from '../../../platform/http/request-url.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { buildReturnUrl, type CodeRequest, consentRequest, validateCodeRequest } from './codes.ts'
import { issueCode } from './issue.ts'
import { renderCodePage, renderConsentPage, renderDeniedPage } from './views.ts'

const csrfPurpose = 'oauth/consent'

/** The fields an app may set in the link. */
const linkFields = ['callback_url', 'code_challenge', 'code_challenge_method', 'key_label']
/** The fields the member fills in; an empty field counts as absent. */
const choiceFields = ['limit', 'usage_limit_type']

/** Resolves the scope within which a member may create keys. */
async function resolveKeyScope({ db }: Gateway, member: Member): Promise<Scope> {
  return resolveScope(await loadMemberGrant(db, member), 'keys:write')
}

function parseCodeRequest(fields: Map<string, string>): CodeRequest {
  const result = consentRequest.safeParse(Object.fromEntries(fields))
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw invalidFieldError(issue?.path.join('.') ?? 'query', issue?.message ?? 'is not valid')
}

function pickFields(fields: Map<string, string>, names: string[]): Map<string, string> {
  return new Map([...fields].filter(([name]) => names.includes(name)))
}

async function showConsent(gateway: Gateway, request: Request): Promise<Response> {
  const visitor = await findVisitor(gateway, request)
  if (!visitor) return promptSignIn(gateway, request)
  const requested = parseCodeRequest(
    pickFields(parseFields(parseRequestUrl(request).searchParams), linkFields),
  )
  validateCodeRequest(gateway, requested)
  const workspace = await requireDefaultWorkspace(gateway.db, visitor.member.organization_id)
  const scope = await resolveKeyScope(gateway, visitor.member)
  assertWithinScope(scope, { workspaceId: workspace.id, ownerId: visitor.member.id })
  const maxLimit = resolveMaxKeyLimit(gateway.settings, scope, workspace.id)
  return renderConsentPage(gateway, {
    member: visitor.member,
    workspaceName: workspace.name,
    requested,
    csrf: createCsrfToken(gateway, visitor, csrfPurpose),
    maxKeyLimit: maxLimit === null ? null : usdFromNanos(maxLimit),
  })
}

async function handleDecision(gateway: Gateway, request: Request): Promise<Response> {
  const form = await readForm(gateway, request)
  const visitor = await findVisitor(gateway, request)
  if (!visitor) return promptSignIn(gateway, request)
  verifyCsrfToken(gateway, visitor, csrfPurpose, form.get('csrf'))
  const choices = [...pickFields(form, choiceFields)].filter(([, value]) => value.trim() !== '')
  const requested = parseCodeRequest(new Map([...pickFields(form, linkFields), ...choices]))
  const decision = form.get('decision')
  if (decision === 'deny')
    return endSessionOnSameHost(gateway, request, visitor, buildDenial(gateway, requested), requested)
  if (decision !== 'approve') throw invalidFieldError('decision', 'must be approve or deny')
  const { member } = visitor
  const owner = {
    organizationId: member.organization_id,
    userId: member.id,
    scope: await resolveKeyScope(gateway, member),
    origin: originOfMember(gateway, request, member),
  }
  const { code } = await issueCode(gateway, owner, requested)
  const response = requested.callback_url
    ? redirectSeeOther(buildReturnUrl(requested.callback_url, { code }))
    : renderCodePage(gateway, code)
  return endSessionOnSameHost(gateway, request, visitor, response, requested)
}

/** Browsers send cookies to every port of a host, so an app on the same host would receive the session cookie. */
async function endSessionOnSameHost(
  gateway: Gateway,
  request: Request,
  visitor: Visitor,
  response: Response,
  { callback_url }: CodeRequest,
): Promise<Response> {
  if (callback_url?.hostname !== parseRequestUrl(request).hostname) return response
  await signOut(gateway, request, visitor.member)
  return setSessionCookie(gateway, request, response, '')
}

function buildDenial(gateway: Gateway, { callback_url }: CodeRequest): Response {
  return callback_url
    ? redirectSeeOther(buildReturnUrl(callback_url, { error: 'access_denied' }))
    : renderDeniedPage(gateway)
}

export const consentPages: RawRoute[] = [
  createPage('GET', '/auth', showConsent),
  createPage('POST', '/auth', handleDecision),
]
