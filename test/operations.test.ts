import { beforeAll, describe, expect, test } from 'bun:test'
import { loadOperations, operationGroups, pageGroups } from '../src/api/all.ts'
import { buildOpenApiDocument } from '../src/http/openapi.ts'
import { isSchema, type Operation } from '../src/http/operation.ts'
import { listAddresses, listPaths } from '../src/http/routes.ts'
import { infoOf } from '../src/identity/permissions/permissions.ts'
import { bwrapPath, formatContainerSettings } from './support/containers.ts'
import { type CallOptions, describeOnEachDatabase, type Tenant, type TestServer } from './support/harness.ts'
import { createRefusedKeys, makeSample, type Sample, samples } from './support/samples.ts'
import { createSessionHeaders } from './support/sessions.ts'

const operations = await loadOperations()
const openApi = buildOpenApiDocument(operations)

describe('the declarations', () => {
  test('ids and routes are unique', () => {
    const ids = operations.map((operation) => operation.id)
    const routes = operations.map((operation) => `${operation.method} ${operation.path}`)
    expect(new Set(ids).size).toBe(ids.length)
    expect(new Set(routes).size).toBe(routes.length)
  })

  test('every operation has a sample, and every sample an operation', () => {
    expect(Object.keys(samples).sort()).toEqual(operations.map((operation) => operation.id).sort())
  })

  // The bytes of an upload go to an address that is encrypted, short-lived, and ends with the key it was made for.
  test('S2 only exchanges of codes and tokens, public keys and the bytes of an upload are public', () => {
    const open = operations
      .filter((operation) => operation.permission === 'public')
      .map((operation) => operation.id)
    expect(open).toEqual(['exchangeAuthCode', 'exchangeToken', 'getOAuthJwks', 'sendGeminiUpload'])
  })

  test('openapi.json matches the declarations (npm run openapi writes it)', async () => {
    const committed = await Bun.file('openapi.json').json()
    expect(committed).toEqual(JSON.parse(JSON.stringify(openApi)))
  })

  test('addresses.json has the addresses of every area (npm run openapi writes it)', async () => {
    const committed = await Bun.file('src/api/addresses.json').json()
    expect(committed).toEqual({
      operations: await listAddresses(operationGroups),
      pages: await listPaths(pageGroups),
    })
  })

  test('every path parameter is described', () => {
    for (const operation of operations) {
      const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
      const described =
        openApi.paths?.[operation.path]?.[operation.method.toLowerCase() as 'get']?.parameters ?? []
      const found = described.filter((p) => 'in' in p && p.in === 'path').map((p) => 'name' in p && p.name)
      expect(found.map(String).sort()).toEqual(names.map(String).sort())
    }
  })
})

/** Operations without those on containers, unless this machine can run them. */
const callable = operations.filter(({ tag }) => bwrapPath !== null || tag !== 'Containers')

describeOnEachDatabase(
  'every operation',
  (server, kind) => {
    let rejected: Record<string, string>
    beforeAll(async () => {
      if (kind !== 'sqlite') return
      rejected = await createRefusedKeys(server())
    })

    for (const operation of callable) {
      describe(`${operation.method} ${operation.path}`, () => {
        let made: Sample
        const sample = () => made
        beforeAll(async () => {
          made = await makeSample(server(), operation.id, server().own)
        })
        const send = (access: string | null | CallOptions, change: Partial<Sample> = {}) => {
          const { path, body } = { ...sample(), ...change }
          const isRaw = operation.rawBody && !operation.body
          const credential = access !== null && typeof access === 'object' ? access : { key: access }
          return server().call(operation.method, path, { ...credential, body: isRaw ? undefined : body })
        }

        if (operation.permission !== 'public' && kind === 'sqlite') {
          test('401 without a key', async () => {
            const response = await send(null)
            expect(response.status).toBe(401)
            expect(detailsOf(response.body).metadata.error_type).toBe('authentication')
          })
          const state = pickInTurn(operation, ['unknown', 'disabled', 'expired'])
          test(`401 with a key that is ${state}`, async () => {
            expect((await send(rejected[state] ?? '')).status).toBe(401)
          })
        }
        // What is rejected before the store is reached does not depend on the database.
        if (kind === 'sqlite') {
          wrongKindTests(operation, server, send)
          malformedTests(operation, server, send, sample)
        }
        // Before the tests of another organization: these may change what the sample needs.
        test('the response matches its schema', async () => {
          const access = await accessFor(operation, server())
          const { path, body } = sample()
          const response = await server().call(operation.method, path, { ...access, body })
          expect(response.status).toBe(operation.status)
          if (isSchema(operation.response))
            expect(response.headers.get('content-type')).toStartWith('application/json')
        })
        foreignTests(operation, server)
      })
    }
  },
  { settings: `egress: { allow_private: ["127.0.0.1:9"] }\n${formatContainerSettings()}` },
)

/** One of the cases that all operations have in common: each operation has the next one. */
function pickInTurn(operation: Operation, cases: readonly [string, ...string[]]): string {
  return cases[operations.indexOf(operation) % cases.length] ?? cases[0]
}

/** The kinds of keys that have the permission of an operation. */
function keysFor({ permission }: Operation): string {
  return permission === 'public' ? 'public' : infoOf(permission).keys
}

/** A key of the tenant that may call the operation, or a session of its owner where no key may. */
async function accessFor(
  operation: Operation,
  server: TestServer,
  tenant: Tenant = server.own,
): Promise<CallOptions> {
  if (keysFor(operation) === 'none' || operation.id === 'getSession')
    return { key: null, headers: await createSessionHeaders(server, tenant.owner) }
  return { key: keysFor(operation) === 'inference' ? tenant.inferenceKey : tenant.managementKey }
}

/** Made from a request to a model: the spec has its other fields ignored, and an absent slug made. */
const madeFromRequests = new Set([
  'createPresetFromChat',
  'createPresetFromMessages',
  'createPresetFromResponses',
])

/** Addressed by a name that clients choose: every organization has its own under the same name. */
const namedByClients = new Set(['updateEndUser', 'eraseEndUserData'])

type Send = (
  access: string | null | CallOptions,
  change?: Partial<Sample>,
) => Promise<{ status: number; body: ErrorBody }>
interface ErrorDetails {
  message: string
  metadata: { error_type: string }
}
interface ErrorBody {
  error?: ErrorDetails | string
  message?: string
  metadata?: ErrorDetails['metadata']
}

/** One format has the message instead of the object, and the other fields next to it; another one has all at the top. */
function detailsOf({ message = '', error = message, metadata }: ErrorBody): ErrorDetails {
  return typeof error === 'string' ? { message: error, metadata: metadata ?? { error_type: '' } } : error
}

function wrongKindTests(operation: Operation, server: () => TestServer, send: Send): void {
  if (keysFor(operation) === 'management' || keysFor(operation) === 'none') {
    test('403 with an inference key', async () => {
      const response = await send(server().own.inferenceKey)
      expect(response.status).toBe(403)
      expect(detailsOf(response.body).metadata.error_type).toBe('permission_denied')
    })
  }
  if (keysFor(operation) === 'inference' || keysFor(operation) === 'none') {
    test('403 with a management key', async () => {
      expect((await send(server().own.managementKey)).status).toBe(403)
    })
  }
  if (operation.permission !== 'public' && infoOf(operation.permission).operatorOnly) {
    test('403 with a management key of another organization', async () => {
      expect((await send(server().foreign.managementKey)).status).toBe(403)
    })
  }
}

/** Tests malformed requests, which leave the sample unchanged, so that all use the same. */
function malformedTests(
  operation: Operation,
  server: () => TestServer,
  send: Send,
  sample: () => Sample,
): void {
  if (operation.body) {
    const malformed = ['{', '[]', '{"no_such_field":1}', ...(operation.optionalBody ? [] : [''])]
    test.each(malformed)('R12 400 for the body %j', async (body) => {
      const response = await send(await accessFor(operation, server()), { body })
      expect(response.status).toBe(400)
    })
    if (operation.inference) {
      test('R31 an unknown field is not rejected', async () => {
        const { body } = await makeSample(server(), operation.id, server().own)
        const response = await send(await accessFor(operation, server()), {
          body: { ...(body as object), no_such_field: 1 },
        })
        expect(response.status).toBe(operation.status)
      })
    } else if (!madeFromRequests.has(operation.id)) {
      test('R12 an unknown field is named', async () => {
        const response = await send(await accessFor(operation, server()), {
          body: { ...(sample().body as object), no_such_field: 1 },
        })
        expect(response.status).toBe(400)
        expect(detailsOf(response.body).message).toStartWith('no_such_field')
      })
      // Operations that only read name what exists.
      const isReading = operation.permission.endsWith(':read')
      const names = ['name', 'first_name', 'last_name', 'key_label'].filter(
        (field) => !isReading && field in shapeOf(operation),
      )
      test.each(names)('S12 a line break in %s is 400', async (field) => {
        const response = await send(await accessFor(operation, server()), {
          body: { ...(sample().body as object), [field]: 'a\r\nBcc: eve@example.com' },
        })
        expect(response.status).toBe(400)
        expect(detailsOf(response.body).message).toStartWith(`${field}: `)
      })
    }
  }
  const query = operation.query as { shape?: Record<string, unknown> } | undefined
  for (const bad of ['limit=0', 'limit=abc', 'limit=99999', 'offset=-1', 'workspace_id=x']) {
    if (!query?.shape || !((bad.split('=')[0] ?? '') in query.shape)) continue
    test(`400 for the query ${bad}`, async () => {
      const { path } = sample()
      const queried = `${path}${path.includes('?') ? '&' : '?'}${bad}`
      expect((await send(await accessFor(operation, server()), { path: queried })).status).toBe(400)
    })
  }
  if (operation.params) {
    test('400 for a path that is not percent-encoded UTF-8', async () => {
      const path = operation.path.replace(/\{\w+\}/, '%FF').replace(/\{\w+\}/g, 'x')
      expect((await send(await accessFor(operation, server()), { path })).status).toBe(400)
    })
  }
}

/** The fields of a body, also of one with alternatives. */
function shapeOf({ body }: Operation): object {
  const schema = body as unknown as { shape?: object; options?: { shape?: object }[] }
  return schema.shape ?? schema.options?.[0]?.shape ?? {}
}

/** S3: another tenant's object does not exist. */
function foreignTests(operation: Operation, server: () => TestServer): void {
  // The catalog belongs to everyone, and what only the operator may touch to the installation.
  const shared =
    /\{(author|model|publisher|rest)\}/.test(operation.path) ||
    (operation.permission !== 'public' && infoOf(operation.permission).operatorOnly)
  // Public operations need only the address.
  const isOwnByName = madeFromRequests.has(operation.id) || namedByClients.has(operation.id)
  if (!operation.params || operation.permission === 'public' || shared || isOwnByName) return
  test('S3 R37 404 for an object of another organization', async () => {
    const sample = await makeSample(server(), operation.id, server().foreign)
    expect(sample.owned).toBe(true)
    const response = await server().call(operation.method, sample.path, {
      ...(await accessFor(operation, server())),
      body: sample.body,
    })
    expect(response.status).toBe(404)
    const own = await server().call(operation.method, sample.path, {
      ...(await accessFor(operation, server(), server().foreign)),
      body: sample.body,
    })
    expect(own.status).toBe(operation.status)
  })
}
