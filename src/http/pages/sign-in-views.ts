import { pathPrefixOf } from '../../access/origin.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { displayNameOf, type Member } from '../../identity/members.ts'
import { renderForwardPage } from './forward.ts'
import { html, type Markup, renderPage } from './markup.ts'

const signInCommand = html`<p>On the computer that runs Headgate, this prints a link that signs you in:</p>
<pre>npm run headgate -- signin</pre>
<p class="quiet">Installed as a command: <code>headgate signin</code>. Another member: add <code>--email</code>.</p>`

/** The script shows the button where the browser has passkeys. */
const passkeyButton = html`<p><button type="button" id="passkey" hidden>Sign in with a passkey</button></p>
<p id="passkey-problem" role="alert" hidden></p>`

export const passkeyScriptPath = 'signin/passkey.js'

function renderProblem(problem: string | undefined): Markup | Markup[] {
  return problem === undefined ? [] : html`<p role="alert"><strong>${problem}</strong></p>`
}

/** The first step: who signs in. */
export function renderSignInPage(
  gateway: Gateway,
  { status, problem }: { status: number; problem?: string },
): Response {
  return renderPage(gateway, {
    title: 'Sign in',
    status,
    script: passkeyScriptPath,
    body: html`${renderProblem(problem)}<form method="post" action="signin/methods">
<p><label for="email">E-mail address</label><br>
<input id="email" name="email" type="email" autocomplete="username" maxlength="254" required autofocus></p>
<p><button class="primary">Continue</button></p></form>${passkeyButton}
<details><summary>Without a password</summary>${signInCommand}<p>Open the link in this browser to continue.</p></details>`,
  })
}

export interface MethodsView {
  email: string
  canMail: boolean
  /** The identity provider for the domain of the address. */
  provider?: { name: string; path: string }
  status?: number
  problem?: string
}

/** The second step: the same for every address, whether or not a member has it. */
export function renderMethodsPage(
  gateway: Gateway,
  { email, canMail, provider, status = 200, problem }: MethodsView,
): Response {
  const address = html`<input type="hidden" name="email" value="${email}">`
  const mailForm = html`<form method="post" action="signin/email">${address}
<p><button>Send me a sign-in link</button></p></form>`
  return renderPage(gateway, {
    title: 'Sign in',
    status,
    script: passkeyScriptPath,
    body: html`${renderProblem(problem)}<p>Signing in as <strong><bdi>${email}</bdi></strong>. <a href="signin">Another address</a></p>
${provider ? html`<p><a href="${provider.path}">Sign in with <bdi>${provider.name}</bdi></a></p>` : []}<form method="post" action="signin/password"><input type="hidden" name="email" autocomplete="username" value="${email}">
<p><label for="password">Password</label><br>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="128" required autofocus></p>
<p><button class="primary">Sign in</button></p></form>
${canMail ? mailForm : []}${passkeyButton}`,
  })
}

/** Renders the step after the password or the mailed link, for a member with an authenticator app. */
export function renderCodeStepPage(gateway: Gateway, pending: string, problem?: string): Response {
  return renderPage(gateway, {
    title: 'Enter your code',
    status: problem === undefined ? 200 : 401,
    body: html`${renderProblem(problem)}<form method="post" action="signin/code"><input type="hidden" name="pending" value="${pending}">
<p><label for="code">The code of your authenticator app, or a recovery code</label><br>
<input id="code" name="code" autocomplete="one-time-code" maxlength="64" required autofocus></p>
<p><button class="primary">Sign in</button></p></form>`,
  })
}

export function renderMailSentPage(gateway: Gateway, email: string): Response {
  return renderPage(gateway, {
    title: 'Check your mail',
    body: html`<p>If a member has the address <strong><bdi>${email}</bdi></strong>, a link is on its way. It is valid once, for 15 minutes.</p>`,
  })
}

export function renderDeadLinkPage(gateway: Gateway): Response {
  return renderPage(gateway, {
    title: 'This sign-in link is invalid or expired',
    body: html`<p>Each link is valid once, for a short time. <a href="signin">Sign in</a></p>${signInCommand}`,
    status: 401,
  })
}

export function renderLinkPage(gateway: Gateway, member: Member, token: string): Response {
  return renderPage(gateway, {
    title: 'Sign in to Headgate',
    body: html`<p>You will be signed in as <strong><bdi>${displayNameOf(member)}</bdi></strong>.</p>
<form method="post" action="signin"><input type="hidden" name="token" value="${token}">
<button class="primary">Sign in</button></form>`,
  })
}

/** `returnPath`: where the visitor wanted to go. */
export function renderSignedInPage(gateway: Gateway, member: Member, returnPath: string): Response {
  return renderPage(gateway, {
    title: 'You are signed in',
    body: html`${renderSignedInAs(member)}<p><a href="${pathPrefixOf(gateway)}${returnPath}">Continue</a></p>`,
  })
}

/** The browser continues to the identity provider, if there is one, to sign out there too. */
export function renderSignedOutPage(gateway: Gateway, providerUrl: string | null): Response {
  const title = 'You are signed out'
  if (providerUrl === null) return renderPage(gateway, { title, body: html`<p>You can close this page.</p>` })
  return renderForwardPage(gateway, {
    title,
    link: 'Sign out at your identity provider too',
    url: providerUrl,
  })
}

export function renderSignedInAs(member: Member): Markup {
  return html`<form method="post" action="signout"><p>You are signed in as
<strong><bdi>${displayNameOf(member)}</bdi></strong>. <button>Sign out</button></p></form>`
}
