import { setDomainVerified } from '../../src/identity/sso-domains.ts'
import type { Tenant, TestServer } from './harness.ts'
import type { TestProvider } from './oidc-provider.ts'

export interface Visit {
  status: number
  url: string
  location: string | null
  html: string
}

/** Keeps the cookies of each site, and follows redirects like a browser. */
export class TestBrowser {
  readonly #cookies = new Map<string, Map<string, string>>()

  async visit(url: string, form?: Record<string, string>): Promise<Visit> {
    const { origin } = new URL(url)
    const jar = this.cookiesOf(origin)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const header of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(header) ?? []
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    const location = response.headers.get('location')
    return { status: response.status, url, location, html: await response.text() }
  }

  cookiesOf(origin: string): Map<string, string> {
    const known = this.#cookies.get(origin)
    if (known) return known
    const created = new Map<string, string>()
    this.#cookies.set(origin, created)
    return created
  }

  /** Follows redirects until a page, or until a URL that starts with `until`, which is not visited. */
  async follow(start: Visit, until = ''): Promise<Visit> {
    let visit = start
    for (let hops = 0; hops < 10 && visit.location !== null; hops++) {
      const next = new URL(visit.location, visit.url).href
      if (until && next.startsWith(until)) return { ...visit, url: next }
      visit = await this.visit(next)
    }
    return visit
  }
}

export interface SsoSetup {
  server: TestServer
  provider: TestProvider
  tenant: Tenant
  connectionId: string
}

/** A connection to the provider, and the verified domain `domain`. */
export async function connectProvider(
  server: TestServer,
  provider: TestProvider,
  options: { tenant?: Tenant; domain?: string | null; connection?: Record<string, unknown> } = {},
): Promise<SsoSetup> {
  const { tenant = server.own, domain = 'example.com', connection = {} } = options
  const { egress } = server.gateway.settings
  Object.assign(egress, { allow_private: [...egress.allow_private, new URL(provider.issuer).host] })
  const key = tenant.managementKey
  const body = {
    name: 'Company',
    issuer: provider.issuer,
    client_id: provider.clientId,
    client_secret: provider.clientSecret,
    scopes: ['openid', 'profile', 'email', 'groups'],
    ...connection,
  }
  const created = await server.call('POST', '/organization/sso/connections', { key, body })
  if (created.status !== 201) throw new Error(JSON.stringify(created.body))
  if (domain !== null) await verifyDomain(server, tenant, domain)
  return { server, provider, tenant, connectionId: created.body.data.id }
}

export async function verifyDomain(server: TestServer, tenant: Tenant, domain: string): Promise<void> {
  const key = tenant.managementKey
  const created = await server.call('POST', '/organization/sso/domains', { key, body: { domain } })
  await setDomainVerified(server.gateway.db, server.clock, created.body.data.id, 'operator')
}

/** Signs in at the provider up to the callback, which is returned and not visited. */
export async function approve(setup: SsoSetup, browser: TestBrowser, account: string, query = '') {
  const { server, connectionId } = setup
  const begun = await browser.visit(`${server.url}/signin/oidc/${connectionId}${query}`)
  if (begun.status !== 303) return begun
  const callback = `${server.url}/signin/oidc/callback`
  const login = await browser.follow(begun, callback)
  if (login.url.startsWith(callback)) return login
  const submitted = await browser.visit(login.url, { prompt: 'login', login: account, password: 'x' })
  return browser.follow(submitted, callback)
}

/** Signs in completely; returns the response of the callback. */
export async function signIn(setup: SsoSetup, account: string, browser = new TestBrowser()): Promise<Visit> {
  const { url } = await approve(setup, browser, account)
  return browser.visit(url)
}

/** The member whom the session of the browser belongs to. */
export async function findSignedIn(server: TestServer, browser: TestBrowser): Promise<string | null> {
  const { html } = await browser.visit(`${server.url}/signin`)
  return /signed in as\s+<strong><bdi>([^<]+)</.exec(html)?.[1] ?? null
}

/** Empties single sign-on of all organizations. */
export async function resetSso({ gateway }: TestServer): Promise<void> {
  for (const table of ['sso_connections', 'sso_domains', 'sso_policies', 'sso_break_glass'] as const)
    await gateway.db.deleteFrom(table).execute()
  await gateway.db.deleteFrom('role_assignments').where('source', '=', 'oidc').execute()
}
