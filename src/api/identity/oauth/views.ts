import type { Gateway } from '../../../gateway/gateway.ts'
import { html, type Markup, renderPage } from '../../../http/pages/markup.ts'
import { renderSignedInAs } from '../../../http/pages/sign-in-views.ts'
import type { Member } from '../../../identity/members.ts'
import { appOf, type CodeRequest, keyNameOf } from './codes.ts'

export interface ConsentView {
  member: Member
  workspaceName: string
  requested: CodeRequest
  csrf: string
  /** Maximum limit over the lifetime of the key, in USD; null if the role sets none. */
  maxKeyLimit: number | null
}

export function renderConsentPage(
  gateway: Gateway,
  { member, workspaceName, requested, csrf, maxKeyLimit }: ConsentView,
): Response {
  const app = appOf(requested.callback_url)
  const appDescription = requested.callback_url
    ? html`The app at <strong><code>${app.url}</code></strong>`
    : html`An app without a website`
  const returns = requested.callback_url
    ? html`<code>${requested.callback_url.href}</code>`
    : html`no URL: a code is shown here to paste into the app`
  return renderPage(gateway, {
    title: `Authorize ${app.name}?`,
    formTargets: requested.callback_url ? [toPolicySource(requested.callback_url)] : [],
    body: html`${renderSignedInAs(member)}
<p>${appDescription} requests an API key that can spend the credits of your organization. Approve only if you started this request.</p>
<table><tr><th>Key name</th><td><bdi>${keyNameOf(requested)}</bdi></td></tr>
<tr><th>Workspace</th><td><bdi>${workspaceName}</bdi></td></tr>
<tr><th>Redirects to</th><td>${returns}</td></tr></table>
<form method="post" action="auth">${renderHiddenFields(requested, csrf)}
<p><label for="limit">Credit limit in USD (${maxKeyLimit === null ? 'leave empty for no limit' : `at most ${maxKeyLimit}, for the lifetime of the key`})</label><br>
<input id="limit" name="limit" inputmode="decimal" autocomplete="off"></p>
${maxKeyLimit === null ? resetChoice : []}
<p><button class="primary" name="decision" value="approve">Approve</button>
<button name="decision" value="deny">Deny</button></p></form>`,
  })
}

const resetChoice = html`<p><label for="reset">The limit resets</label><br>
<select id="reset" name="usage_limit_type"><option value="">never</option><option value="daily">every day</option>
<option value="weekly">every week</option><option value="monthly">every month</option></select></p>`

/** A Content-Security-Policy cannot name an IPv6 address. */
function toPolicySource(callback: URL): string {
  return callback.hostname.startsWith('[') ? callback.protocol : callback.origin
}

function renderHiddenFields(requested: CodeRequest, csrf: string): Markup[] {
  const fields = {
    csrf,
    callback_url: requested.callback_url?.href,
    code_challenge: requested.code_challenge,
    code_challenge_method: requested.code_challenge_method,
    key_label: requested.key_label,
  }
  return Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [html`<input type="hidden" name="${name}" value="${value}">`],
  )
}

export function renderCodePage(gateway: Gateway, code: string): Response {
  return renderPage(gateway, {
    title: 'Your code',
    body: html`<p>Paste it into the app within ten minutes. It is valid once.</p><pre>${code}</pre>`,
  })
}

export function renderDeniedPage(gateway: Gateway): Response {
  return renderPage(gateway, {
    title: 'Denied',
    body: html`<p>No key was created. You can close this page.</p>`,
  })
}
