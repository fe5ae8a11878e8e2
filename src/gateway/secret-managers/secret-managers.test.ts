import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { computeSignature } from '../../../test/support/sigv4.ts'
import { ConfigError } from '../../config.ts'
import { loadConfig, reloadEnvironment } from './resolve.ts'

interface SeenRequest {
  method: string
  path: string
  headers: Headers
  body: string
}

const scratch = mkdtempSync(join(tmpdir(), 'headgate-secrets-'))
let seen: SeenRequest[] = []
let respond: (request: SeenRequest) => Response = () => new Response('', { status: 500 })

/** A stand-in for each manager, on loopback. */
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: async (request) => {
    const url = new URL(request.url)
    const path = url.pathname
    const entry = { method: request.method, path, headers: request.headers, body: await request.text() }
    seen.push(entry)
    return respond(entry)
  },
})
const address = server.url.origin
afterAll(async () => {
  await server.stop(true)
  rmSync(scratch, { recursive: true })
})
beforeEach(() => {
  seen = []
})

async function resolve(
  variables: Record<string, string>,
): Promise<Readonly<Record<string, string | undefined>>> {
  return (await loadConfig(variables)).environment
}

async function problemOf(variables: Record<string, string>): Promise<string> {
  const error = await loadConfig(variables).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(ConfigError)
  return (error as Error).message
}

const token = 'hvs.s3cret-t0ken'
const vaultVariables = { VAULT_ADDR: `${address}/`, VAULT_TOKEN: token }

describe('Vault', () => {
  /** The form of a response of the engine KV, version 2. */
  const secret = (data: Record<string, unknown> | null) =>
    Response.json({
      request_id: '1b0d2a7c-6d2a-5d4f-8a4a-2b8f1f5c7f10',
      lease_id: '',
      renewable: false,
      lease_duration: 0,
      data: {
        data,
        metadata: {
          created_time: '2026-11-13T21:58:32.128442898Z',
          custom_metadata: null,
          deletion_time: '',
          destroyed: false,
          version: 3,
        },
      },
      wrap_info: null,
      warnings: null,
      auth: null,
      mount_type: 'kv',
    })

  test('a value such as vault:path#field is a field of a secret, which is requested once', async () => {
    respond = () => secret({ openai: 'sk-openai', anthropic: 'sk-ant' })
    const environment = await resolve({
      ...vaultVariables,
      VAULT_NAMESPACE: 'team',
      OPENAI_API_KEY: 'vault:secret/data/headgate#openai',
      ANTHROPIC_API_KEY: 'vault:secret/data/headgate#anthropic',
      OTHER: 'plain',
    })
    expect(environment).toMatchObject({
      OPENAI_API_KEY: 'sk-openai',
      ANTHROPIC_API_KEY: 'sk-ant',
      OTHER: 'plain',
    })
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatchObject({ method: 'GET', path: '/v1/secret/data/headgate' })
    expect(seen[0]?.headers.get('x-vault-token')).toBe(token)
    expect(seen[0]?.headers.get('x-vault-namespace')).toBe('team')
  })

  test('the first version of the engine has the fields at once', async () => {
    respond = () => Response.json({ lease_duration: 2764800, data: { key: 'v1-value' } })
    expect((await resolve({ ...vaultVariables, A_KEY: 'vault:kv/headgate#key' })).A_KEY).toBe('v1-value')
  })

  test('a reload reads secrets and files again', async () => {
    const path = join(scratch, 'token')
    writeFileSync(path, 'first\n')
    respond = () => secret({ openai: 'old' })
    const config = await loadConfig({
      ...vaultVariables,
      OPENAI_API_KEY: 'vault:secret/data/headgate#openai',
      LOCAL_KEY_FILE: path,
    })
    expect(config.environment).toMatchObject({ OPENAI_API_KEY: 'old' })
    expect(config.environment.LOCAL_KEY).toBe('first')
    respond = () => secret({ openai: 'new' })
    writeFileSync(path, 'second\n')
    const reloaded = await reloadEnvironment(config)
    expect([reloaded.OPENAI_API_KEY, reloaded.LOCAL_KEY]).toEqual(['new', 'second'])
    expect([config.environment.OPENAI_API_KEY, config.environment.LOCAL_KEY]).toEqual(['old', 'first'])
  })

  test('an error names the variable, and neither the token nor a secret', async () => {
    const variables = { ...vaultVariables, OPENAI_API_KEY: 'vault:secret/data/headgate#openai' }
    const prefix = 'OPENAI_API_KEY refers to a secret that cannot be read: '
    const cases: [() => Response, string][] = [
      [() => Response.json({ errors: ['permission denied'] }, { status: 403 }), 'Vault responded with 403.'],
      [() => Response.json({ errors: [] }, { status: 404 }), 'Vault responded with 404.'],
      [() => new Response('<html>'), 'Vault responded with something else than a JSON object.'],
      [() => secret(null), 'Vault has no current version of the secret.'],
      [() => secret({ other: 's3cret' }), 'the secret has no text in the field that the reference names.'],
    ]
    for (const [reply, message] of cases) {
      respond = reply
      expect(await problemOf(variables)).toBe(prefix + message)
    }
    respond = () => secret({ openai: 's3cret' })
    expect(await problemOf({ ...variables, OPENAI_API_KEY: 'vault:secret/data/headgate' })).toContain(
      'Append #<field>',
    )
    expect(await problemOf({ ...variables, VAULT_TOKEN: '' })).toBe(`${prefix}VAULT_TOKEN is not set.`)
    expect(await problemOf({ ...variables, VAULT_ADDR: token })).not.toContain(token)
    const gone = { ...variables, VAULT_ADDR: 'http://127.0.0.1:1' }
    expect(await problemOf(gone)).toBe(`${prefix}Vault cannot be used: The host could not be reached.`)
  })
})

describe('AWS Secrets Manager', () => {
  const key = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 's3cret-access-key' }
  const variables = { ...key, AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL_SECRETS_MANAGER: address }
  /** The form of a response of GetSecretValue. */
  const secret = (value: Record<string, string>) =>
    Response.json(
      {
        ARN: 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:headgate-a1b2c3',
        CreatedDate: 1.763_379_12e9,
        Name: 'headgate',
        VersionId: 'a1b2c3d4-5678-90ab-cdef-EXAMPLE11111',
        VersionStages: ['AWSCURRENT'],
        ...value,
      },
      { headers: { 'content-type': 'application/x-amz-json-1.1' } },
    )

  test('a value such as aws-sm:name is the text of a secret, and with #field a field of its JSON', async () => {
    respond = ({ body }) =>
      secret({ SecretString: JSON.parse(body).SecretId === 'plain' ? 'text' : '{"openai":"sk-1"}' })
    const environment = await resolve({
      ...variables,
      A_KEY: 'aws-sm:plain',
      OPENAI_API_KEY: 'aws-sm:prod/headgate#openai',
    })
    expect(environment).toMatchObject({ A_KEY: 'text', OPENAI_API_KEY: 'sk-1' })
    const [request] = seen
    expect(request?.method).toBe('POST')
    expect(request?.headers.get('x-amz-target')).toBe('secretsmanager.GetSecretValue')
    expect(request?.headers.get('content-type')).toBe('application/x-amz-json-1.1')
    const authorization = request?.headers.get('authorization') ?? ''
    expect(authorization).toContain('/eu-west-1/secretsmanager/aws4_request')
    const headers = Object.fromEntries(request?.headers ?? [])
    const signed = { method: 'POST', url: `${address}/`, headers, text: request?.body ?? '' }
    expect(authorization).toEndWith(`Signature=${computeSignature(signed, key.AWS_SECRET_ACCESS_KEY)}`)
  })

  test('a binary secret is decoded', async () => {
    respond = () => secret({ SecretBinary: Buffer.from('bytes').toString('base64') })
    expect((await resolve({ ...variables, A_KEY: 'aws-sm:x' })).A_KEY).toBe('bytes')
  })

  test('the credentials of a pod are used without an access key', async () => {
    const path = join(scratch, 'pod-token')
    writeFileSync(path, 'pod-t0ken')
    respond = (request) =>
      request.path === '/v1/credentials'
        ? Response.json({
            AccessKeyId: 'ASIAPOD',
            SecretAccessKey: 'x',
            Token: 'session',
            Expiration: '2026-11-18T22:00:00Z',
          })
        : secret({ SecretString: 'text' })
    const environment = await resolve({
      AWS_REGION: 'eu-west-1',
      AWS_ENDPOINT_URL: address,
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${address}/v1/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: path,
      A_KEY: 'aws-sm:x',
    })
    expect(environment.A_KEY).toBe('text')
    expect(seen[0]?.headers.get('authorization')).toBe('pod-t0ken')
    expect(seen[1]?.headers.get('authorization')).toContain('Credential=ASIAPOD/')
    expect(seen[1]?.headers.get('x-amz-security-token')).toBe('session')
  })

  test('an error names the variable, and nothing of the response', async () => {
    respond = () =>
      Response.json(
        { __type: 'AccessDeniedException', Message: 'User s3cret is not authorized' },
        { status: 400 },
      )
    expect(await problemOf({ ...variables, A_KEY: 'aws-sm:x' })).toBe(
      'A_KEY refers to a secret that cannot be read: AWS Secrets Manager responded with 400.',
    )
    expect(await problemOf({ ...variables, AWS_REGION: '', A_KEY: 'aws-sm:x' })).toContain(
      'AWS_REGION must be a region',
    )
  })
})

describe('Google Secret Manager', () => {
  const variables = {
    CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER: `${address}/`,
    GCE_METADATA_HOST: new URL(address).host,
  }
  const answer = (data: string) => (request: SeenRequest) =>
    request.path.startsWith('/computeMetadata/')
      ? Response.json({ access_token: 'ya29.t0ken', expires_in: 3599, token_type: 'Bearer' })
      : Response.json({
          name: 'projects/123456/secrets/openai/versions/7',
          payload: { data: Buffer.from(data).toString('base64'), dataCrc32c: '1420421344' },
        })

  test('a value such as gcp-sm:projects/p/secrets/s is its latest version, read as the machine', async () => {
    respond = answer('sk-1\n')
    expect(
      (await resolve({ ...variables, OPENAI_API_KEY: 'gcp-sm:projects/p/secrets/openai' })).OPENAI_API_KEY,
    ).toBe('sk-1')
    expect(seen.map(({ path }) => path)).toEqual([
      '/computeMetadata/v1/instance/service-accounts/default/token',
      '/v1/projects/p/secrets/openai/versions/latest:access',
    ])
    expect(seen[0]?.headers.get('metadata-flavor')).toBe('Google')
    expect(seen[1]?.headers.get('authorization')).toBe('Bearer ya29.t0ken')
  })

  test('a version and a field can be named', async () => {
    respond = answer('{"key":"sk-2"}')
    const reference = 'gcp-sm:projects/p/secrets/s/versions/3#key'
    expect((await resolve({ ...variables, A_KEY: reference })).A_KEY).toBe('sk-2')
    expect(seen[1]?.path).toBe('/v1/projects/p/secrets/s/versions/3:access')
  })

  test('an error names the variable', async () => {
    respond = () => Response.json({ error: { code: 403, status: 'PERMISSION_DENIED' } }, { status: 403 })
    expect(await problemOf({ ...variables, A_KEY: 'gcp-sm:projects/p/secrets/s' })).toContain(
      'A_KEY refers to a secret that cannot be read: The metadata server responded with 403.',
    )
    expect(await problemOf({ ...variables, A_KEY: 'gcp-sm:s' })).toContain(
      'the reference must be gcp-sm:projects/',
    )
    const broken = { ...variables, GOOGLE_APPLICATION_CREDENTIALS: '{"type":"authorized_user"}' }
    expect(await problemOf({ ...broken, A_KEY: 'gcp-sm:projects/p/secrets/s' })).toContain(
      'not that of a service account',
    )
  })
})

test('a variable that refers to nothing is left as it is, and nothing is requested', async () => {
  const environment = await resolve({ A: 'vault', B: 'https://vault:8200', C: 'aws-sm: x' })
  expect(environment).toMatchObject({ A: 'vault', B: 'https://vault:8200', C: 'aws-sm: x' })
  expect(seen).toEqual([])
})
