import { afterEach, expect, test } from 'bun:test'
import { type CallOptions, describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import { findOrCreateApp } from './store.ts'

const callback_url = 'https://app.example.com/done'
const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
/** The example pair of RFC 7636, appendix B. */
const s256 = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }
const minute = 60_000

describeOnEachDatabase('E3 POST /auth/keys/code', (server) => {
  const send = (body: Record<string, unknown>, options: CallOptions = {}) =>
    server().call('POST', '/auth/keys/code', { body: { callback_url, ...body }, ...options })
  const codeFor = async (body: Record<string, unknown> = {}): Promise<string> => {
    const response = await send(body)
    expect(response.status).toBe(200)
    return response.body.data.id
  }
  const codeRows = () => server().gateway.db.selectFrom('auth_codes').selectAll().execute()

  afterEach(() => server().clock.release())

  test.each<[string, Record<string, unknown>]>([
    ['callback_url https', {}],
    ['callback_url https on another port', { callback_url: 'https://app.example.com:8443/done?a=b' }],
    ['callback_url http localhost', { callback_url: 'http://localhost:3000/cb' }],
    ['callback_url http localhost without a port', { callback_url: 'http://localhost' }],
    ['callback_url https localhost', { callback_url: 'https://localhost:65535/' }],
    ['callback_url http 127.0.0.1', { callback_url: 'http://127.0.0.1:49152/cb' }],
    ['callback_url in capitals', { callback_url: 'HTTP://LOCALHOST:3000/' }],
    ['code_challenge S256', s256],
    ['code_challenge plain', { code_challenge: verifier, code_challenge_method: 'plain' }],
    ['code_challenge without a method', { code_challenge: 'x'.repeat(43) }],
    ['expires_at', { expires_at: '2099-01-31T23:59:59Z' }],
    ['expires_at with a fraction', { expires_at: '2099-01-31T23:59:59.123Z' }],
    ['expires_at null', { expires_at: null }],
    ['key_label of 100 characters', { key_label: 'x'.repeat(100) }],
    ['limit', { limit: 12.5 }],
    ['limit zero', { limit: 0 }],
    ['usage_limit_type daily', { limit: 1, usage_limit_type: 'daily' }],
    ['usage_limit_type weekly', { limit: 1, usage_limit_type: 'weekly' }],
    ['usage_limit_type monthly', { limit: 1, usage_limit_type: 'monthly' }],
    ['spawn_agent and spawn_cloud', { spawn_agent: 'agent', spawn_cloud: 'cloud' }],
  ])('E3 accepts %s', async (_, body) => {
    const { status, body: response } = await send(body)
    expect(status).toBe(200)
    expect(response.data.id).toMatch(/^[\w-]{43}$/)
    expect(response.data.app_id).toBeInteger()
    expect(Date.parse(response.data.created_at)).not.toBeNaN()
  })

  test.each<[string, Record<string, unknown>, string]>([
    ['callback_url missing', { callback_url: undefined }, 'callback_url'],
    ['callback_url not a string', { callback_url: 7 }, 'callback_url'],
    ['callback_url not a URL', { callback_url: 'app.example.com' }, 'callback_url'],
    ['callback_url http', { callback_url: 'http://app.example.com/' }, 'callback_url'],
    ['callback_url http ::1', { callback_url: 'http://[::1]:3000/' }, 'callback_url'],
    ['callback_url http 127.0.0.2', { callback_url: 'http://127.0.0.2/' }, 'callback_url'],
    ['callback_url http 0.0.0.0', { callback_url: 'http://0.0.0.0/' }, 'callback_url'],
    ['callback_url localhost of others', { callback_url: 'http://localhost.evil.com/' }, 'callback_url'],
    ['callback_url 127.0.0.1 of others', { callback_url: 'http://127.0.0.1.evil.com/' }, 'callback_url'],
    ['callback_url localhost with a dot', { callback_url: 'http://localhost./' }, 'callback_url'],
    ['callback_url localhost as a user', { callback_url: 'http://localhost@evil.com/' }, 'callback_url'],
    ['callback_url https with a user', { callback_url: 'https://app:pw@evil.com/' }, 'callback_url'],
    ['callback_url http 127.1', { callback_url: 'http://127.1/' }, 'callback_url'],
    ['callback_url http as a number', { callback_url: 'http://2130706433/' }, 'callback_url'],
    ['callback_url with a fragment', { callback_url: 'https://app.example.com/#x' }, 'callback_url'],
    ['callback_url with an empty fragment', { callback_url: 'https://app.example.com/#' }, 'callback_url'],
    ['callback_url with a backslash', { callback_url: 'http://evil.com\\@localhost/' }, 'callback_url'],
    ['callback_url without slashes', { callback_url: 'https:evil.com' }, 'callback_url'],
    ['callback_url with a space before it', { callback_url: ' https://evil.com' }, 'callback_url'],
    ['callback_url with a policy in its host', { callback_url: 'https://a;sandbox/' }, 'callback_url'],
    ['callback_url with a wildcard host', { callback_url: 'https://*/' }, 'callback_url'],
    ['callback_url javascript', { callback_url: 'javascript:alert(1)' }, 'callback_url'],
    ['callback_url data', { callback_url: 'data:text/html,x' }, 'callback_url'],
    ['callback_url of an app scheme', { callback_url: 'myapp://done' }, 'callback_url'],
    ['callback_url endless', { callback_url: `https://a.example/${'x'.repeat(2048)}` }, 'callback_url'],
    ['code_challenge empty', { code_challenge: '' }, 'code_challenge'],
    ['code_challenge too short', { code_challenge: 'x'.repeat(42) }, 'code_challenge'],
    ['code_challenge endless', { code_challenge: 'x'.repeat(129) }, 'code_challenge'],
    [
      'code_challenge with a control character',
      { code_challenge: `${'x'.repeat(43)}\u0001` },
      'code_challenge',
    ],
    ['code_challenge S256 too short', { ...s256, code_challenge: 'x'.repeat(42) }, 'code_challenge'],
    ['code_challenge S256 padded', { ...s256, code_challenge: `${'x'.repeat(43)}=` }, 'code_challenge'],
    ['code_challenge S256 in hex', { ...s256, code_challenge: sha256(verifier) }, 'code_challenge'],
    ['code_challenge S256 in base64', { ...s256, code_challenge: '+'.repeat(43) }, 'code_challenge'],
    ['code_challenge_method alone', { code_challenge_method: 'S256' }, 'code_challenge'],
    ['code_challenge_method unknown', { ...s256, code_challenge_method: 's256' }, 'code_challenge_method'],
    ['expires_at with minutes only', { expires_at: '2099-01-01T00:00Z' }, 'expires_at'],
    ['expires_at in another zone', { expires_at: '2099-01-01T00:00:00+01:00' }, 'expires_at'],
    ['expires_at in the past', { expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
    ['key_label of 101 characters', { key_label: 'x'.repeat(101) }, 'key_label'],
    ['key_label with a control character', { key_label: 'x\u0001y' }, 'key_label'],
    ['limit as text', { limit: '5' }, 'limit'],
    ['limit null', { limit: null }, 'limit'],
    ['limit negative', { limit: -1 }, 'limit'],
    ['usage_limit_type unknown', { usage_limit_type: 'yearly' }, 'usage_limit_type'],
    ['workspace_id not a UUID', { workspace_id: 'default' }, 'workspace_id'],
    ['spawn_agent not a string', { spawn_agent: 1 }, 'spawn_agent'],
    ['spawn_cloud endless', { spawn_cloud: 'x'.repeat(257) }, 'spawn_cloud'],
    ['R12 an unknown field', { scope: 'all' }, 'scope'],
  ])('E3 400 naming the field: %s', async (_, body, field) => {
    const response = await send(body)
    expect(response.status).toBe(400)
    expect(response.body.error.message).toStartWith(`${field}:`)
  })

  test('E3 needs a management key: 401 without one, 403 with an inference key', async () => {
    expect((await send({}, { key: null })).status).toBe(401)
    expect((await send({}, { key: server().own.inferenceKey })).status).toBe(403)
  })

  test('E3 403 for a workspace of another organization', async () => {
    expect((await send({ workspace_id: server().foreign.workspace.id })).status).toBe(403)
  })

  test('E3 one app per origin, also with 20 concurrent requests; another for another origin or organization', async () => {
    const at = (path: string) => ({ callback_url: `https://many.example.com/${path}` })
    const responses = await Promise.all(Array.from({ length: 20 }, (_, i) => send(at(String(i)))))
    const ids = new Set(responses.map((response) => response.body.data.app_id))
    expect(ids.size).toBe(1)
    const other = await send({ callback_url: 'https://many.example.com:444/' })
    expect(ids).not.toContain(other.body.data.app_id)
    const foreign = await send(at(''), { key: server().foreign.managementKey })
    expect(ids).not.toContain(foreign.body.data.app_id)
  })

  test('E3 one app when 20 requests all found none', async () => {
    const { gateway, own } = server()
    const app = { url: 'https://race.example.com', name: 'race.example.com' }
    const tries = Array.from({ length: 20 }, () =>
      findOrCreateApp(gateway.db, gateway.clock, own.organization.id, app),
    )
    expect(new Set(await Promise.all(tries)).size).toBe(1)
  })

  test('E3 only the hash of a code is stored', async () => {
    const code = await codeFor(s256)
    const rows = await codeRows()
    expect(rows.map((row) => row.code_hash)).toContain(sha256(code))
    expect(JSON.stringify(rows, (_, v) => (typeof v === 'bigint' ? String(v) : v))).not.toContain(code)
  })

  test('E3 expired codes are deleted when new ones are created', async () => {
    await codeFor()
    server().clock.advance(10 * minute)
    const code = await codeFor()
    expect((await codeRows()).map((row) => row.code_hash)).toEqual([sha256(code)])
  })
})

describeOnEachDatabase(
  'E3 with require_s256',
  (server) => {
    test.each<[string, Record<string, unknown>, number]>([
      ['S256', s256, 200],
      ['plain', { code_challenge: verifier, code_challenge_method: 'plain' }, 400],
      ['no method, which is plain', { code_challenge: verifier }, 400],
      ['no challenge', {}, 400],
    ])('E3 %s', async (_, body, status) => {
      const response = await server().call('POST', '/auth/keys/code', { body: { callback_url, ...body } })
      expect(response.status).toBe(status)
    })
  },
  { settings: 'oauth:\n  require_s256: true\n' },
)
