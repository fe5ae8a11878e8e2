import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { createVerify, generateKeyPairSync } from 'node:crypto'
import { RequestSigner } from './request-signer.ts'
import type { ServiceAccount } from './service-account.ts'

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
  let respond: () => Response | Promise<Response>
  let now = Date.parse('2026-11-15T12:00:00Z')
  let signer: RequestSigner
  beforeAll(() => {
    vendor = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        forms.push(new URLSearchParams(await request.text()))
        return respond()
      },
    })
  })
  afterAll(() => vendor.stop(true))
  beforeEach(() => {
    forms = []
    respond = () => Response.json({ access_token: `token-${forms.length}`, expires_in: 1000 })
    signer = new RequestSigner({ now: () => now })
  })

  const tokenUrl = () => `http://127.0.0.1:${vendor.port}/token`
  const contextFor = (url: string, allowPrivate = [new URL(url).host]) => ({
    keyHeader: 'x-goog-api-key',
    settings: {},
    options: { scheme: 'service-account', tokenUrl: url } as const,
    allowPrivate,
  })
  const request = { method: 'POST', url: 'https://vertex.example/', headers: {}, body: '' }
  const token = async (who = account, context = contextFor(tokenUrl())) => {
    const headers = await signer.sign(request, who, context)
    return headers.authorization?.replace('Bearer ', '')
  }
  const later = (seconds: number) => {
    now += seconds * 1000
  }

  test('the assertion is signed by the account, for the token endpoint it is sent to', async () => {
    expect(await token()).toBe('token-1')
    const [form] = forms
    expect(form?.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer')
    const [head = '', claims = '', signature = ''] = form?.get('assertion')?.split('.') ?? []
    const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
    expect(read(head)).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'key-1' })
    expect(read(claims)).toEqual({
      iss: account.clientEmail,
      scope: 'https://www.googleapis.com/auth/cloud-platform',
      aud: tokenUrl(),
      iat: now / 1000,
      exp: now / 1000 + 3600,
    })
    const verified = createVerify('RSA-SHA256')
      .update(`${head}.${claims}`)
      .verify(publicKey, Buffer.from(signature, 'base64url'))
    expect(verified).toBe(true)
  })

  test('a token is replaced after 80 % of its lifetime, and used until the new one arrives', async () => {
    await token()
    later(799)
    expect(await token()).toBe('token-1')
    later(1)
    expect(await token()).toBe('token-1')
    while ((await token()) === 'token-1') await Bun.sleep(1)
    expect(forms).toHaveLength(2)
  })

  test('concurrent requests share one exchange', async () => {
    expect(await Promise.all(Array.from({ length: 50 }, () => token()))).toEqual(Array(50).fill('token-1'))
    expect(forms).toHaveLength(1)
  })

  test('accounts with the same name and different keys do not share tokens', async () => {
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const imposter = { ...account, privateKey: other.export({ type: 'pkcs8', format: 'pem' }).toString() }
    expect(await Promise.all([token(), token(imposter)])).toHaveLength(2)
    expect(forms).toHaveLength(2)
  })

  test('a failed exchange is reported, not cached; a failed refresh is not reported while the token is valid', async () => {
    respond = () => Response.json({ error: 'invalid_grant', error_description: 'leak' }, { status: 400 })
    await expect(token()).rejects.toThrow('The token endpoint rejected the service account (status 400).')
    respond = () => Response.json({ access_token: 'good', expires_in: 1000 })
    expect(await token()).toBe('good')
    respond = () => Response.json({}, { status: 503 })
    later(900)
    const before = forms.length
    for (let i = 0; i < 20; i++) {
      expect(await token()).toBe('good')
      await Bun.sleep(1)
    }
    expect(forms.length - before).toBeLessThan(2)
    later(100)
    await expect(token()).rejects.toThrow('rejected the service account')
  })

  test('a token that the provider rejected is replaced', async () => {
    await token()
    signer.forgetToken(account, contextFor(tokenUrl()))
    expect(await token()).toBe('token-2')
  })

  test('S12 an invalid key and an unreachable token endpoint are reported without any part of the key', async () => {
    const broken = {
      ...account,
      privateKey: '-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----',
    }
    await expect(token(broken)).rejects.toThrow('The private key of the service account cannot be used.')
    const closed = contextFor('http://127.0.0.1:1/token')
    await expect(token(account, closed)).rejects.toThrow('did not respond')
  })

  test('S5 an assertion is not sent to a private address that the operator did not list', async () => {
    await expect(token(account, contextFor(tokenUrl(), []))).rejects.toThrow('did not respond')
    expect(forms).toHaveLength(0)
  })
})
