import { afterEach, describe, expect, test } from 'bun:test'
import { loadOperations } from '../src/api/all.ts'
import { createSignInToken, deleteSession, startSession } from '../src/identity/sessions.ts'
import { createSessionCaller, describeOnEachDatabase, type TestServer } from './support/harness.ts'
import { createSessionHeaders, headersOf } from './support/sessions.ts'

const operations = await loadOperations()

const minute = 60_000
const day = 24 * 60 * minute

describeOnEachDatabase('Sessions', (server) => {
  afterEach(() => server().clock.release())
  const call = (method: string, path: string, headers: Record<string, string>) =>
    server().call(method, path, { key: null, headers })
  const newSession = (member = server().own.owner) => createSessionHeaders(server(), member)
  const eventsOf = async (action: string) =>
    server()
      .gateway.db.selectFrom('audit_entries')
      .selectAll()
      .where('action', '=', action)
      .orderBy('seq')
      .execute()

  test('GET /session says who is signed in and what the member may do', async () => {
    const { own } = server()
    const { body } = await call('GET', '/session', await newSession())
    expect(body.data).toMatchObject({
      member: { id: own.owner.id, email: 'owner@localhost', role: 'org:admin' },
      organization: { id: own.organization.id },
      roles: [],
      workspaces: [{ id: own.workspace.id, slug: 'default', role: 'admin' }],
      method: 'link',
    })
    expect(body.data.permissions).toContain('keys:write')
    expect(body.data.workspaces[0].permissions).toContain('inference:write')
  })

  test('GET /session names only permissions that have an effect', async () => {
    const { own, foreign } = server()
    const admin = await createSessionCaller(server(), { workspaces: { [own.workspace.id]: 'admin' } })
    const { body } = await admin.call('GET', '/session')
    expect(body.data.workspaces[0].permissions).toContain('members:write')
    expect(body.data.workspaces[0].permissions).not.toContain('credits:read')
    const other = await createSessionCaller(server(), { tenant: foreign, role: 'org:admin' })
    const { permissions } = (await other.call('GET', '/session')).body.data
    expect(permissions).toContain('credits:read')
    expect(permissions).not.toContain('catalogue:write')
  })

  test('the csrf_token of GET /session allows changes', async () => {
    const { cookie } = await newSession()
    const { body, headers: sent } = await call('GET', '/session', { cookie })
    expect(sent.get('cache-control')).toBe('no-store')
    const headers = { cookie, 'x-csrf-token': body.data.csrf_token }
    expect((await call('DELETE', '/sessions', headers)).status).toBe(200)
  })

  test('an API key has no session', async () => {
    expect((await server().call('GET', '/session')).status).toBe(404)
    const { status, body } = await server().call('GET', '/sessions')
    expect([status, body.error.metadata.permission]).toEqual([403, 'account:read'])
  })

  test('a member lists and ends their own sessions only', async () => {
    const [first, second, foreign] = [
      await newSession(),
      await newSession(),
      await newSession(server().foreign.owner),
    ]
    const list = (await call('GET', '/sessions', first)).body.data
    expect(list.filter((session: { current: boolean }) => session.current)).toHaveLength(1)
    const { session_id } = (await call('GET', '/session', second)).body.data
    expect((await call('DELETE', `/sessions/${session_id}`, foreign)).status).toBe(404)
    expect((await call('DELETE', `/sessions/${session_id}`, first)).status).toBe(200)
    expect((await call('GET', '/session', second)).status).toBe(401)
    const third = await newSession()
    expect((await call('DELETE', '/sessions', first)).body.count).toBeGreaterThan(0)
    expect((await call('GET', '/session', third)).status).toBe(401)
    expect((await call('GET', '/session', first)).status).toBe(200)
    expect((await call('GET', '/session', foreign)).status).toBe(200)
  })

  test('an admin sees and ends the sessions of a member, and the audit log has it', async () => {
    const { own, foreign } = server()
    const session = await newSession()
    const path = `/organization/members/${own.owner.id}/sessions`
    expect((await server().call('GET', path)).body.data.length).toBeGreaterThan(0)
    expect((await server().call('DELETE', path, { key: foreign.managementKey })).status).toBe(404)
    const { count } = (await server().call('DELETE', path)).body
    expect((await call('GET', '/session', session)).status).toBe(401)
    const events = (await eventsOf('session.delete')).slice(-count)
    expect(events.every(({ actor_type }) => actor_type === 'key')).toBe(true)
    expect(events).toHaveLength(count)
  })

  test('session fixation: signing in makes a new token and ends the session the browser had', async () => {
    const { gateway, url, own } = server()
    const planted = 'planted-by-another-site'
    const first = await signInWith(server(), planted)
    expect(first).not.toBe(planted)
    const token = await createSignInToken(gateway.db, gateway.clock, own.owner.id)
    const response = await fetch(`${url}/signin`, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie: `headgate_session=${first}` },
      body: new URLSearchParams({ token }),
    })
    const second = /headgate_session=([\w-]+);/.exec(response.headers.getSetCookie().join())?.[1] ?? ''
    expect(second).not.toBe(first)
    expect((await call('GET', '/session', headersOf(server(), first))).status).toBe(401)
    expect((await call('GET', '/session', headersOf(server(), second))).status).toBe(200)
    expect((await call('GET', '/session', headersOf(server(), planted))).status).toBe(401)
    expect((await eventsOf('session.delete')).at(-1)).toMatchObject({
      actor_id: own.owner.id,
      changes: '{"details":{"reason":"the browser signed in again"}}',
    })
  })

  test('a session ends when it is not used, and in any case after its lifetime', async () => {
    const idle = await newSession()
    server().clock.advance(day - minute)
    expect((await call('GET', '/session', idle)).status).toBe(200)
    server().clock.advance(day + minute)
    expect((await call('GET', '/session', idle)).status).toBe(401)
    const used = await newSession()
    for (let i = 0; i < 7; i++) {
      expect((await call('GET', '/session', used)).status).toBe(200)
      server().clock.advance(day - minute)
    }
    expect((await call('GET', '/session', used)).status).toBe(200)
    server().clock.advance(7 * minute)
    expect((await call('GET', '/session', used)).status).toBe(401)
  })

  test('idle time counts from the last request, to the second', async () => {
    const { clock } = server()
    clock.freeze('2040-01-01T00:00:00Z')
    const session = await newSession()
    const status = async () => (await call('GET', '/session', session)).status
    clock.freeze('2040-01-01T00:00:59Z')
    expect(await status()).toBe(200)
    clock.freeze('2040-01-02T00:00:58Z')
    expect(await status()).toBe(200)
    clock.freeze('2040-01-03T00:00:58Z')
    expect(await status()).toBe(401)
    clock.release()
  })

  test('the 401 of a session that has ended says why', async () => {
    const { clock } = server()
    const messageOf = async (session: { cookie: string }) => {
      const { status, body } = await call('GET', '/session', session)
      expect([status, body.error.metadata.reason]).toEqual([401, 'session_ended'])
      return body.error.message
    }
    clock.freeze('2041-01-01T00:00:00Z')
    const [idle, used] = [await newSession(), await newSession()]
    clock.freeze('2041-01-01T12:00:00Z')
    await call('GET', '/session', used)
    clock.freeze('2041-01-02T00:00:00Z')
    expect(await messageOf(idle)).toContain('idle for 86400 seconds')
    for (let day = 2; day <= 7; day++) {
      clock.freeze(`2041-01-0${day}T0${8 - day}:00:00Z`)
      await call('GET', '/session', used)
    }
    clock.freeze('2041-01-08T00:00:00Z')
    expect(await messageOf(used)).toContain('604800 seconds after the sign-in')
    // The next sign-in deletes both.
    const [signedOut, revoked, deactivated] = [await newSession(), await newSession(), await newSession()]
    expect(await messageOf(used)).toContain('604800 seconds after the sign-in')
    expect(await messageOf(idle)).toContain('idle for 86400 seconds')
    const init = { method: 'POST', headers: { cookie: signedOut.cookie }, body: new URLSearchParams() }
    await fetch(`${server().url}/signout`, init)
    expect(await messageOf(signedOut)).toContain('it was signed out')
    const { session_id } = (await call('GET', '/session', revoked)).body.data
    await call('DELETE', `/sessions/${session_id}`, deactivated)
    expect(await messageOf(revoked)).toContain('ended from another session, or by an admin')
    await server().call('DELETE', `/organization/members/${server().own.owner.id}/sessions`)
    expect(await messageOf(deactivated)).toContain('ended from another session, or by an admin')
    const unknown = 'The session has ended. Sign in again.'
    expect(await messageOf({ cookie: 'headgate_session=unknown' })).toBe(unknown)
    clock.freeze('2041-01-23T00:00:01Z')
    await newSession()
    expect(await messageOf(signedOut)).toBe(unknown)
    clock.release()
  })

  test('S13 how sessions ended is known of the last hundred of a member', async () => {
    const { gateway, own, clock } = server()
    for (let count = 0; count < 102; count++) {
      // Of those of the same millisecond, none is deleted.
      clock.advance(1)
      const { token } = await gateway.db
        .transaction()
        .execute((tx) =>
          startSession(tx, gateway, { userId: own.owner.id, method: 'link', ip: null, userAgent: null }),
        )
      await deleteSession(gateway.db, token)
    }
    const ofOwner = gateway.db.selectFrom('ended_sessions').where('user_id', '=', own.owner.id)
    const rows = await ofOwner.select('token_hash').execute()
    expect(rows.length).toBeLessThanOrEqual(101)
  })

  test('expires_at is the earlier of both ends', async () => {
    const session = await newSession()
    const { data } = (await call('GET', '/session', session)).body
    expect(Date.parse(data.expires_at) - server().clock.now()).toBeLessThanOrEqual(day)
  })

  test('signing in and out are in the audit log', async () => {
    const before = (await eventsOf('session.create')).length
    const { cookie } = await newSession()
    const created = (await eventsOf('session.create')).slice(before)
    expect(created).toHaveLength(1)
    expect(created[0]).toMatchObject({
      actor_type: 'member',
      actor_id: server().own.owner.id,
      outcome: 'success',
      changes: '{"details":{"method":"link"}}',
    })
    await fetch(`${server().url}/signout`, {
      method: 'POST',
      headers: { cookie },
      body: new URLSearchParams(),
    })
    const ended = (await eventsOf('session.delete')).at(-1)
    expect(ended).toMatchObject({ target_id: created[0]?.target_id, actor_id: server().own.owner.id })
  })

  describe('S1 CSRF: a change with a session but', () => {
    const changes = operations.filter(({ method, permission }) => method !== 'GET' && permission !== 'public')
    const refusals: [string, (headers: Record<string, string>) => Record<string, string>][] = [
      ['without the token', ({ cookie = '' }) => ({ cookie })],
      ['with a wrong token', (headers) => ({ ...headers, 'x-csrf-token': 'wrong' })],
      ['from another origin', (headers) => ({ ...headers, origin: 'https://evil.example' })],
      ['from another site', (headers) => ({ ...headers, 'sec-fetch-site': 'cross-site' })],
      ['from a neighboring site', (headers) => ({ ...headers, 'sec-fetch-site': 'same-site' })],
    ]
    test.each(refusals)('%s is 403, for every operation', async (_, change) => {
      const headers = change(await newSession())
      for (const { method, path, root } of changes) {
        const url = `${server().url}${root ? '' : '/api/v1'}${path.replace(/\{\w+\}/g, 'x')}`
        const response = await fetch(url, { method, headers, body: '{}' })
        await response.text()
        // Origins that may not call the API from a browser at all are refused before.
        const expected = headers.origin ? [400, 403] : [403]
        expect(expected, `${method} ${path}`).toContain(response.status)
      }
    })

    test('the token of another session is 403', async () => {
      const [own, other] = [await newSession(), await newSession()]
      const headers = { ...own, 'x-csrf-token': other['x-csrf-token'] }
      expect((await call('DELETE', '/sessions', headers)).status).toBe(403)
    })
  })
})

describeOnEachDatabase(
  'Sessions over https',
  (server) => {
    test('the cookie has the __Host- prefix, and one without it is ignored', async () => {
      const { gateway, url, own } = server()
      const token = await createSignInToken(gateway.db, gateway.clock, own.owner.id)
      const body = new URLSearchParams({ token })
      const response = await fetch(`${url}/signin`, { method: 'POST', redirect: 'manual', body })
      const [cookie = ''] = response.headers.getSetCookie()
      expect(cookie).toMatch(/^__Host-headgate_session=[\w-]{43}; Path=\/; .*Secure/)
      expect(cookie).not.toContain('Domain')
      const [pair = ''] = cookie.split(';')
      const status = async (sent: string) =>
        (await server().call('GET', '/session', { key: null, headers: { cookie: sent } })).status
      expect(await status(pair)).toBe(200)
      expect(await status(pair.replace('__Host-', ''))).toBe(401)
    })
  },
  { settings: 'public_url: https://gate.example.com\n' },
)

/** The token of a session of the owner, from a browser that had another cookie. */
async function signInWith(server: TestServer, cookieToken: string): Promise<string> {
  const { gateway, url, own } = server
  const token = await createSignInToken(gateway.db, gateway.clock, own.owner.id)
  const response = await fetch(`${url}/signin`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: `headgate_session=${cookieToken}` },
    body: new URLSearchParams({ token }),
  })
  return /headgate_session=([\w-]+);/.exec(response.headers.getSetCookie().join())?.[1] ?? ''
}
