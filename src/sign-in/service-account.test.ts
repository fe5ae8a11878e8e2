import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { createVerify, generateKeyPairSync } from 'node:crypto'
import type { ServiceAccount } from '../catalogue/credential.ts'
import { AccessTokenCache } from './service-account.ts'

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const account: ServiceAccount = {
  kind: 'service-account',
  clientEmail: 'gate@project.iam.gserviceaccount.com',
  privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  privateKeyId: 'key-1',
  project: 'project',
}

describe('service accounts', () => {
  let vendor: ReturnType<typeof Bun.serve>
  let forms: URLSearchParams[] = []
  let answer: () => Response | Promise<Response>
  let now = Date.parse('2026-11-15T12:00:00Z')
  let grants: AccessTokenCache
  beforeAll(() => {
    vendor = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        forms.push(new URLSearchParams(await request.text()))
        return answer()
      },
    })
  })
  afterAll(() => vendor.stop(true))
  beforeEach(() => {
    forms = []
    answer = () => Response.json({ access_token: `token-${forms.length}`, expires_in: 1000 })
    grants = new AccessTokenCache({ now: () => now })
  })

  const exchange = () => ({
    tokenUrl: `http://127.0.0.1:${vendor.port}/token`,
    allowPrivate: [`127.0.0.1:${vendor.port}`],
  })
  const token = (who = account) => grants.getToken(who, exchange())
  const later = (seconds: number) => {
    now += seconds * 1000
  }

  test('the assertion is signed by the account, for the place it is sent to', async () => {
    expect(await token()).toBe('token-1')
    const [form] = forms
    expect(form?.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer')
    const [head = '', claims = '', signature = ''] = form?.get('assertion')?.split('.') ?? []
    const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
    expect(read(head)).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'key-1' })
    expect(read(claims)).toEqual({
      iss: account.clientEmail,
      scope: 'https://www.googleapis.com/auth/cloud-platform',
      aud: exchange().tokenUrl,
      iat: now / 1000,
      exp: now / 1000 + 3600,
    })
    const verified = createVerify('RSA-SHA256')
      .update(`${head}.${claims}`)
      .verify(publicKey, Buffer.from(signature, 'base64url'))
    expect(verified).toBe(true)
  })

  test('a token serves until 80 % of its life, then it is replaced while it still serves', async () => {
    await token()
    later(799)
    expect(await token()).toBe('token-1')
    later(1)
    expect(await token()).toBe('token-1')
    while ((await token()) === 'token-1') await Bun.sleep(1)
    expect(forms).toHaveLength(2)
  })

  test('requests that come together share one exchange', async () => {
    expect(await Promise.all(Array.from({ length: 50 }, () => token()))).toEqual(Array(50).fill('token-1'))
    expect(forms).toHaveLength(1)
  })

  test('accounts do not share tokens, whatever they call themselves', async () => {
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const imposter = { ...account, privateKey: other.export({ type: 'pkcs8', format: 'pem' }).toString() }
    expect(await Promise.all([token(), token(imposter)])).toHaveLength(2)
    expect(forms).toHaveLength(2)
  })

  test('a failed exchange is told, not remembered; one beforehand is not told while the token lasts', async () => {
    answer = () => Response.json({ error: 'invalid_grant', error_description: 'leak' }, { status: 400 })
    await expect(token()).rejects.toThrow('The service account was not signed in (status 400).')
    answer = () => Response.json({ access_token: 'good', expires_in: 1000 })
    expect(await token()).toBe('good')
    answer = () => Response.json({}, { status: 503 })
    later(900)
    const before = forms.length
    for (let i = 0; i < 20; i++) {
      expect(await token()).toBe('good')
      await Bun.sleep(1)
    }
    expect(forms.length - before).toBeLessThan(2)
    later(100)
    await expect(token()).rejects.toThrow('not signed in')
  })

  test('a token that was refused is asked for anew', async () => {
    await token()
    grants.invalidate(account, exchange().tokenUrl)
    expect(await token()).toBe('token-2')
  })

  test('S12 a key that is none, and a vendor that is away, are told without a word of the key', async () => {
    const broken = {
      ...account,
      privateKey: '-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----',
    }
    await expect(token(broken)).rejects.toThrow('The private key of the service account cannot be used.')
    const closed = { ...exchange(), tokenUrl: 'http://127.0.0.1:1/token', allowPrivate: ['127.0.0.1:1'] }
    await expect(grants.getToken(account, closed)).rejects.toThrow('no answer')
  })

  test('S5 an assertion is not sent to a private address that the operator did not list', async () => {
    await expect(grants.getToken(account, { ...exchange(), allowPrivate: [] })).rejects.toThrow('no answer')
    expect(forms).toHaveLength(0)
  })
})
